// Made by `make types` from the OpenAPI document of the service: change src/opengcd/service/wire.py instead.

/** An edit, by its number and verb. */
export interface Act {
  id: number;
  verb: string;
}

/** A known class, with the items that stand for it. */
export interface Class {
  label: string;
  learnt: number;
  exemplars: number[];
}

/** The number of classes that the last discovery found, and how it came to that. */
export interface ClassNumber {
  k: number;
  interval: [number, number] | null;
  trusted: boolean;
  reason: string;
  known: number;
  /** Pairs of a number of classes and its score. */
  curve: [number, number][];
  confirmed: number;
}

/** Say that a named group is right, so that learn takes it. */
export interface Confirm {
  /** The last edit that the client has seen. */
  on: number;
  act: "confirm";
  group: number;
}

/** Why something cannot be done as things stand; ``conflict`` says who was faster, if that is the reason. */
export interface Conflict {
  detail: string;
  conflict?: ConflictingEdit | null;
}

/** Who has changed meanwhile what an edit is about. */
export interface ConflictingEdit {
  edit: number;
  who: string;
  verb: string;
}

/** How many images of a class. */
export interface Count {
  label: string;
  count: number;
}

/** Group what is new, with k classes if given. */
export interface Discover {
  verb: "discover";
  k?: number | null;
}

/** The event `edit`: who did what, and which groups it changed. */
export interface EditEvent {
  edit: number;
  who: string;
  verb: string;
  groups: number[];
}

/** The number of an edit. */
export interface EditMade {
  edit: number;
}

/** What an edit has changed. */
export interface Edited {
  edit: number;
  groups: number[];
  made: number | null;
}

/** A line of the history. */
export interface Entry {
  id: number;
  at: string;
  who: string;
  verb: string;
  details: Record<string, any>;
  undone: boolean;
}

/** A file that could not be used. */
export interface Failure {
  name: string;
  reason: string;
}

/** A group under review. */
export interface Group {
  id: number;
  kind: "novel" | "known" | "removed";
  label: string;
  named: boolean;
  confirmed: boolean;
  size: number;
  cohesion: number | null;
  probability: number | null;
  doubtful: boolean;
  typical: number[];
  suggestion: string | null;
}

/** All groups, in the order of the review, as of an edit. */
export interface Groups {
  edit: number;
  groups: Group[];
}

/** An image. */
export interface Item {
  id: number;
  name: string;
  probability: number | null;
  unknown: number | null;
  label: string | null;
  top: [string, number][];
}

/** An image, and all that is known of it. */
export interface ItemDetails {
  id: number;
  name: string;
  probability: number | null;
  unknown: number | null;
  label: string | null;
  top: [string, number][];
  group: number | null;
  paths: string[];
  width: number;
  height: number;
  source: string;
}

/** Some images of a group, as of an edit. */
export interface ItemPage {
  edit: number;
  total: number;
  items: Item[];
}

/** Long work. */
export interface Job {
  id: number;
  verb: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  result: Record<string, any> | null;
  error: string | null;
  at: string;
  who: string;
}

/** Enter the next phase. */
export interface Learn {
  verb: "learn";
}

/** What learn would take. */
export interface Learnable {
  new: Count[];
  known: Count[];
  total: number;
}

/** A token, and a name that the history will show before that of the token. */
export interface LogIn {
  token: string;
  who?: string | null;
}

/** All images under review on a plane. */
export interface Map {
  items: number[];
  x: number[];
  y: number[];
  group: number[];
  /** False while a better map is being drawn; the event `map` tells when it is ready. */
  drawn: boolean;
}

/** How full the exemplar memory is. */
export interface Memory {
  size: number;
  used: number;
}

/** Move all of a group to another one. */
export interface Merge {
  /** The last edit that the client has seen. */
  on: number;
  act: "merge";
  group: number;
  into: number;
}

/** Move images to a group, or to the class or group of a name, which is made if need be. */
export interface Move {
  /** The last edit that the client has seen. */
  on: number;
  act: "move";
  items: number[];
  group?: number | null;
  label?: string | null;
}

/** Name a group; by the name of a known class or another group it joins that one. */
export interface Name {
  /** The last edit that the client has seen. */
  on: number;
  act: "name";
  group: number;
  /** The name of a class. */
  label: string;
  confirm?: boolean;
}

/** An image that looks like another one. */
export interface Neighbour {
  id: number;
  distance: number;
  group: number | null;
  label: string;
}

/** Undo or redo, if the last edit is the one that was seen. */
export interface On {
  /** The last edit that the client has seen. */
  on: number;
}

/** A version of the recogniser, and how it fared. */
export interface Phase {
  version: number;
  phase: number;
  at: string;
  in_use: boolean;
  classes: number;
  learnt: number;
  asked: number;
  rejected: number;
  unknown_rate: number | null;
  accuracy: Rightness | null;
}

/** Why a request was not done, in words for a person. */
export interface Problem {
  detail: string;
}

/** What is said of a vector or an image. */
export interface Recognized {
  /** A known class, or "unknown"; empty if there is a reason. */
  label: string;
  unknown: number;
  top: [string, number][];
  /** Of an image that was kept. */
  id: number | null;
  /** Items in the memory that look most like it; for images. */
  exemplars: number[];
  name: string | null;
  /** Why an image cannot be used. */
  reason: string | null;
}

/** What was done again. */
export interface Redone {
  edit: number;
  groups: number[];
  redone: Entry;
}

/** How images are rejected, and how they could be. */
export interface Rejection {
  max_known_rejected: number | null;
  threshold: Record<string, any> | null;
  seen: number;
  choices: RejectionChoice[];
}

/** A limit on rejection, and what it would do. */
export interface RejectionChoice {
  max_known_rejected: number | null;
  rejected_known: number;
  rejected_stream: number;
  share: number | null;
}

/** Reject at most this share of known images; null lets the threshold follow the stream. */
export interface RejectionLimit {
  /** The last edit that the client has seen. */
  on: number;
  max_known_rejected: number | null;
}

/** Take images out of the review for good. */
export interface Remove {
  /** The last edit that the client has seen. */
  on: number;
  act: "remove";
  items: number[];
}

/** Shares of exemplars, and of images that were just learnt, that are recognised as what they are. */
export interface Rightness {
  memory?: number | null;
  confirmed?: number | null;
}

/** Put a version of the recogniser to use. */
export interface Rollback {
  /** The last edit that the client has seen. */
  on: number;
  version: number;
}

/** Move images to a group of their own. */
export interface Separate {
  /** The last edit that the client has seen. */
  on: number;
  act: "separate";
  items: number[];
  label?: string | null;
}

/** Who is logged in; ``csrf`` goes into the header X-CSRF-Token of everything but GET. */
export interface Session {
  who: string;
  scopes: string[];
  csrf: string;
}

/** Cluster a group anew, in n parts. */
export interface Split {
  /** The last edit that the client has seen. */
  on: number;
  act: "split";
  group: number;
  n: number;
}

/** Where the workspace stands. */
export interface Status {
  name: string;
  embedder: string;
  version: Version | null;
  versions: number;
  counts: Record<string, number>;
  discovered: Record<string, any>;
  failures: number;
  edit: number;
  groups: number;
  to_review: number;
  to_learn: number;
  memory: Memory | null;
  can_undo: Act | null;
  can_redo: Act | null;
  jobs: Job[];
}

/** Say that a group is not confirmed any more. */
export interface Unconfirm {
  /** The last edit that the client has seen. */
  on: number;
  act: "unconfirm";
  group: number;
}

/** What was undone. */
export interface Undone {
  edit: number;
  groups: number[];
  undone: Entry;
}

/** A version of the recogniser. */
export interface Version {
  id: number;
  parent: number | null;
  phase: number;
  classes: string[];
  at: string;
  in_use: boolean;
  threshold: Record<string, any> | null;
  report: Record<string, any> | null;
}

/** What each address of the API takes and gives, by method and path. */
export interface Operations {
  /** Name what is known and reject what is not: feature vectors (JSON, or numpy's format), or images. */
  "POST /recognize": {
    query?: { keep?: boolean; top?: number };
    body: { vectors: number[][]; } | FormData;
    answer: Recognized[];
  };
  /** Return where the workspace stands. */
  "GET /status": {
    answer: Status;
  };
  /** Return all versions of the recogniser, the oldest first. */
  "GET /versions": {
    answer: Version[];
  };
  /** Return all versions with what they have seen and how right they are, the oldest first. */
  "GET /phases": {
    answer: Phase[];
  };
  /** Return the known classes with the items in the memory that stand for them. */
  "GET /classes": {
    answer: Class[];
  };
  /** Return how images are rejected, and what other limits would do with the stream so far. */
  "GET /rejection": {
    answer: Rejection;
  };
  /** Reject at most this share of known images from now on; null lets the threshold follow the stream. */
  "PUT /rejection": {
    body: RejectionLimit;
    answer: EditMade;
  };
  /** Return who did what when, the latest first. */
  "GET /history": {
    query?: { limit?: number; before?: number | null };
    answer: Entry[];
  };
  /** Return how many classes the last discovery found. */
  "GET /k": {
    answer: ClassNumber;
  };
  /** Return what the job learn would take. */
  "GET /learnable": {
    answer: Learnable;
  };
  /** Return the label of every image, and who says so. */
  "GET /export": {
    query?: { format?: "csv" | "json" | "coco" };
    answer: any;
  };
  /** Return the files that could not be used. */
  "GET /failures": {
    answer: Failure[];
  };
  /** Put a version of the recogniser to use; what it has not learnt is under review again. */
  "POST /rollback": {
    body: Rollback;
    answer: EditMade;
  };
  /** Return all groups, in the order of the review. */
  "GET /groups": {
    answer: Groups;
  };
  /** Return images of a group, the most typical first, or the odd ones out. */
  "GET /groups/{id}/items": {
    path: { id: number };
    query?: { offset?: number; limit?: number; order?: "typical" | "odd" };
    answer: ItemPage;
  };
  /** Return all that is known of an image. */
  "GET /items/{id}": {
    path: { id: number };
    answer: ItemDetails;
  };
  /** Return a small picture. */
  "GET /items/{id}/thumbnail": {
    path: { id: number };
    answer: null;
  };
  /** Return the image itself, as it is or as a JPEG if browsers do not know its format. */
  "GET /items/{id}/image": {
    path: { id: number };
    answer: null;
  };
  /** Return the images under review, and learnt ones, that look most like one. */
  "GET /items/{id}/neighbours": {
    path: { id: number };
    query?: { limit?: number };
    answer: Neighbour[];
  };
  /** Change groups; refused if someone has changed the same since the edit that the client saw. */
  "POST /edits": {
    body: Name | Confirm | Unconfirm | Move | Separate | Remove | Merge | Split;
    answer: Edited;
  };
  /** Undo the last edit, if it is the one that the client saw. */
  "POST /undo": {
    body: On;
    answer: Undone;
  };
  /** Redo what was undone last, if the last edit is the one that the client saw. */
  "POST /redo": {
    body: On;
    answer: Redone;
  };
  /** Return all images under review on a plane: what looks alike lies close together. */
  "GET /map": {
    answer: Map;
  };
  /** Return the last hundred jobs, the latest first. */
  "GET /jobs": {
    answer: Job[];
  };
  /** Ask for long work; it is done in the order in which it was asked for. */
  "POST /jobs": {
    body: Discover | Learn;
    answer: Job;
  };
  /** Return a job. */
  "GET /jobs/{id}": {
    path: { id: number };
    answer: Job;
  };
  /** Cancel a job: one that runs ends at its next step, and changes nothing; one that has made its change is done. */
  "POST /jobs/{id}/cancel": {
    path: { id: number };
    answer: Job;
  };
  /** Server-sent events: `job` with a job, `edit` with what was changed by whom, `map`, `ping`. */
  "GET /events": {
    answer: null;
  };
  /** Return who is logged in. */
  "GET /session": {
    answer: Session;
  };
  /** Begin a session by a token; the answer sets a cookie. A right token always logs in. */
  "POST /session": {
    body: LogIn;
    answer: Session;
  };
  /** End the session. */
  "DELETE /session": {
    answer: null;
  };
}

/** What the events of `GET /events` hold, by name. */
export interface Events {
  edit: EditEvent;
  job: Job;
}
