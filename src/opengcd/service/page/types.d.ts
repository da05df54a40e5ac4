// Made by `make types` from the OpenAPI document of the service: change src/opengcd/service/wire.py instead.

/** Accuracy on the exemplars (``memory``) and on the images that were just learnt (``confirmed``). */
export interface Accuracy {
  memory?: number | null;
  confirmed?: number | null;
}

/** An edit, by its number and verb. */
export interface Act {
  id: number;
  verb: string;
}

/** Adapt the network to the images of the workspace, and use it if a rehearsal shows that this helps. */
export interface Adapt {
  /** Rehearse only, and change nothing. */
  dry_run?: boolean;
  /** Use the adapted network even if it does not help in the rehearsal. */
  force?: boolean;
  /** How the last blocks are trained. */
  method?: "lora" | "blocks" | null;
  /** How many of the last blocks. */
  blocks?: number | null;
  /** Passes over the images. */
  epochs?: number | null;
  /** Whether images without a label take part. */
  unlabelled?: boolean | null;
  verb: "adapt";
}

/** The network was adapted, or a rehearsal showed no benefit and it was left unchanged. */
export interface AdaptDetails {
  switched: boolean;
  images: number;
  unlabelled: number;
  missing: number;
  reason: string;
  run: string;
  seconds: Record<string, number>;
  version?: number | null;
  rehearsed?: Record<string, number> | null;
}

/** The adaptation of the network to the images of the workspace. */
export interface AdaptJob {
  id: number;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  error: string | null;
  at: string;
  who: string;
  verb: "adapt";
  arguments: AdaptOptions;
  /** As it is estimated; null if that is not known. */
  seconds_left: number | null;
  curves: Curves | null;
  result: AdaptResult | null;
}

/** How to adapt the network; what is left out is chosen by the number of images and the device. */
export interface AdaptOptions {
  /** Rehearse only, and change nothing. */
  dry_run?: boolean;
  /** Use the adapted network even if it does not help in the rehearsal. */
  force?: boolean;
  /** How the last blocks are trained. */
  method?: "lora" | "blocks" | null;
  /** How many of the last blocks. */
  blocks?: number | null;
  /** Passes over the images. */
  epochs?: number | null;
  /** Whether images without a label take part. */
  unlabelled?: boolean | null;
}

/** What came of the job ``adapt``. */
export interface AdaptResult {
  /** Whether the adapted network is in use. */
  switched: boolean;
  /** The new version of the recogniser, if there is one. */
  version: number | null;
  /** Why nothing was changed; empty if the adapted network is in use. */
  reason: string;
  images: number;
  /** Images that were left out because their files are gone or have changed. */
  missing: number;
  /** Null if too few classes are known to hide some of them. */
  rehearsed: Rehearsal | null;
  /** How long each step took. */
  seconds: Record<string, number>;
}

/** What the job ``adapt`` would use, whether it is possible, and how long it would take. */
export interface AdaptationPlan {
  possible: boolean;
  /** Why it is not possible; empty if it is. */
  reason: string;
  /** Images with labels. */
  images: number;
  /** Images of the stream without a label. */
  unlabelled: number;
  /** How long it will take on this machine; null if that is not known. */
  seconds: number | null;
  /** The same for a dry run. */
  rehearsal_seconds: number | null;
  /** Whether the time is being measured; the event `adaptation` tells when it is. */
  measuring: boolean;
  device: string;
  last: LastAdaptation | null;
}

/** What was measured when a network was adapted, and how many seconds each stage took. */
export interface AdaptationReport {
  labelled: number;
  unlabelled: number;
  rehearsed: Rehearsal | null;
  curve: Epoch[];
  rehearsal_curve: Epoch[];
  seconds: Record<string, number>;
}

/** An answer to a question: its key, its meaning, and the edit to send for it. */
export interface Answer {
  key: string;
  text: string;
  edit: Record<string, any>;
}

/** A known class with its exemplars. */
export interface Class {
  label: string;
  learnt: number;
  exemplars: number[];
}

/** The number of classes that the last discovery estimated, and the scores behind it. */
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

/** Say whether two groups are the same class: they are merged, or discover keeps them apart. */
export interface Compare {
  /** The last edit that the client has seen. */
  on: number;
  act: "compare";
  group: number;
  into: number;
  same?: boolean;
}

/** A person said whether two groups are the same class; if so, they were merged. */
export interface CompareDetails {
  group: number;
  into: number;
  same: boolean;
}

/** Confirm a named group, so that the next learn includes it. */
export interface Confirm {
  /** The last edit that the client has seen. */
  on: number;
  act: "confirm";
  group: number;
}

/** A group was confirmed, or its confirmation was withdrawn. */
export interface ConfirmDetails {
  group: number;
}

/** Why a request is not possible in the present state; ``conflict`` is the edit of somebody else, if that is why. */
export interface Conflict {
  detail: string;
  conflict?: ConflictingEdit | null;
}

/** The edit of somebody else that is in conflict with a request. */
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

/** The curves of the rehearsal's training and of the training itself, as far as they are drawn. */
export interface Curves {
  rehearsing?: Epoch[];
  training?: Epoch[];
}

/** Discover new classes; ``k`` fixes the total number of classes. */
export interface Discover {
  verb: "discover";
  k?: number | null;
}

/** Groups were found; see :class:`opengcd.workspace.group_discovery.Discovered`. */
export interface DiscoverDetails {
  k: number;
  images: number;
  put_back: number;
  groups: number;
  version?: number | null;
  trusted?: boolean;
  reason?: string;
  left_alone?: number | null;
  k_interval?: number[] | null;
  stacks?: number | null;
  curve?: number[][] | null;
}

/** The search for groups of new classes. */
export interface DiscoverJob {
  id: number;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  error: string | null;
  at: string;
  who: string;
  verb: "discover";
  result: DiscoverResult | null;
}

/** What the job ``discover`` found. */
export interface DiscoverResult {
  k: number;
  k_interval: [number, number] | null;
  items: number;
  put_back: number;
  groups: number;
  trusted: boolean;
  reason: string;
  left_alone?: number;
}

/** Say that some images of a group are not of its class; they become a group of their own. */
export interface Divide {
  /** The last edit that the client has seen. */
  on: number;
  act: "divide";
  group: number;
  items: number[];
  one?: boolean;
  other?: boolean;
  seen?: number[] | null;
}

/** A person said that some images of a group, now in the group ``part``, are not of its class. */
export interface DivideDetails {
  group: number;
  part: number;
  one: boolean;
  other: boolean;
  seen?: number[] | null;
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
  images: number | null;
}

/** A line of the history. */
export interface Entry {
  id: number;
  at: string;
  who: string;
  verb: string;
  details: InitDetails | RecognizeDetails | DiscoverDetails | LearnDetails | AdaptDetails | RollbackDetails | RejectionDetails | ReviewDetails | NameDetails | ConfirmDetails | KeepDetails | MoveDetails | RemoveDetails | UnstackDetails | MergeDetails | SplitDetails | CompareDetails | DivideDetails | RegroupDetails | UndoDetails | Record<string, any>;
  undone: boolean;
}

/** A point of the curve of a training. */
export interface Epoch {
  epoch: number;
  loss: number | null;
  /** On labelled images that were kept out of the training. */
  accuracy: number | null;
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

/** The first version was learnt. */
export interface InitDetails {
  classes: number;
  images: number;
  bad: number;
}

/** An image. */
export interface Item {
  id: number;
  name: string;
  probability: number | null;
  unknown: number | null;
  label: string | null;
  top: [string, number][];
  stack: number | null;
  copies: number;
}

/** An image with its details. */
export interface ItemDetails {
  id: number;
  name: string;
  probability: number | null;
  unknown: number | null;
  label: string | null;
  top: [string, number][];
  stack: number | null;
  copies: number;
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
export type Job = DiscoverJob | LearnJob | AdaptJob;

/** Say that a group is one class: discover leaves its images together. */
export interface Keep {
  /** The last edit that the client has seen. */
  on: number;
  act: "keep";
  group: number;
  seen?: number[] | null;
}

/** A person said that a group is one class. */
export interface KeepDetails {
  group: number;
  seen?: number[] | null;
}

/** The last adaptation, or rehearsal of one. */
export interface LastAdaptation {
  at: string;
  who: string;
  undone: boolean;
  /** Whether the adapted network was put to use. */
  switched: boolean;
  /** The version of the recogniser that it made. */
  version?: number | null;
  /** Why nothing was changed; empty if something was. */
  reason: string;
  images: number;
  unlabelled: number;
  missing: number;
  rehearsed?: Rehearsal | null;
  /** How long each step took. */
  seconds: Record<string, number>;
}

/** Learn the confirmed groups: the next phase. */
export interface Learn {
  verb: "learn";
}

/** A version was learnt. */
export interface LearnDetails {
  version: number;
  images: number;
  new_classes: string[];
}

/** The learning of confirmed groups. */
export interface LearnJob {
  id: number;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  stage: string;
  done: number;
  total: number;
  error: string | null;
  at: string;
  who: string;
  verb: "learn";
  result: LearnResult | null;
}

/** The version that the job ``learn`` made, with the accuracy of the version before it and its own. */
export interface LearnResult {
  version: number;
  classes: string[];
  before?: Accuracy | null;
  after?: Accuracy | null;
}

/** What the job ``learn`` would learn. */
export interface Learnable {
  new: Count[];
  known: Count[];
  total: number;
}

/** What was measured when a version was learnt; ``before`` is the accuracy of the version before it. */
export interface LearningReport {
  memory: Memory;
  after: Accuracy;
  before?: Accuracy | null;
  adapted?: AdaptationReport | null;
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

/** Merge a group into another one: move all its images there. */
export interface Merge {
  /** The last edit that the client has seen. */
  on: number;
  act: "merge";
  group: number;
  into: number;
}

/** A group was merged into another one. */
export interface MergeDetails {
  group: number;
  into: number;
}

/** Move images to a group, given by its number or by the name of a class; a new name makes a new group. */
export interface Move {
  /** The last edit that the client has seen. */
  on: number;
  act: "move";
  items: number[];
  group?: number | null;
  label?: string | null;
}

/** Images were moved to a group. */
export interface MoveDetails {
  images: number;
  group: number;
}

/** Name a group; if a known class or another group has this name, the two are merged. */
export interface Name {
  /** The last edit that the client has seen. */
  on: number;
  act: "name";
  group: number;
  /** The name of a class. */
  label: string;
  confirm?: boolean;
}

/** A group was named. */
export interface NameDetails {
  group: number;
  label: string;
  confirmed: boolean;
}

/** An image that looks like another one. */
export interface Neighbour {
  id: number;
  distance: number;
  group: number | null;
  label: string;
}

/** An empty object. */
export interface Nothing {
}

/** Undo or redo, if the last edit is the one that was seen. */
export interface On {
  /** The last edit that the client has seen. */
  on: number;
}

/** A version of the recogniser with its statistics. */
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
  accuracy: Accuracy | null;
}

/** Why a request failed, for people to read. */
export interface Problem {
  detail: string;
}

/** A question about groups, with the images to show. */
export interface Question {
  kind: "split" | "same";
  text: string;
  gain: number;
  groups: number[];
  shown: number[][];
  answers: Answer[];
}

/** The questions that are worth asking now, the best first, as of an edit. */
export interface Questions {
  edit: number;
  seconds: number;
  questions: Question[];
  answered: boolean;
}

/** Images were recognised. */
export interface RecognizeDetails {
  images: number;
  rejected: number;
  bad: number;
}

/** The answer for a vector or an image. */
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

/** What was redone. */
export interface Redone {
  edit: number;
  groups: number[];
  redone: Entry;
}

/** Assign images to the unnamed groups again, by the answers to questions about them. */
export interface Regroup {
  /** The last edit that the client has seen. */
  on: number;
  act: "regroup";
}

/** Images were assigned to the groups again, by the answers of a person. */
export interface RegroupDetails {
  images: number;
  started: number;
}

/** HNA and HCA on hidden known classes, with the features in use before (frozen) and with adapted ones. */
export interface Rehearsal {
  frozen_hna: number;
  frozen_hca: number;
  adapted_hna: number;
  adapted_hca: number;
  /** Number of classes that were hidden. */
  hidden: number;
  /** Whether adapted features are better, by more than chance. */
  helps: boolean;
}

/** The limit on rejection, and other choices. */
export interface Rejection {
  max_known_rejected: number | null;
  threshold: Threshold | null;
  seen: number;
  choices: RejectionChoice[];
}

/** A limit on rejection, and how much it would reject. */
export interface RejectionChoice {
  max_known_rejected: number | null;
  rejected_known: number;
  rejected_stream: number;
  share: number | null;
}

/** The limit on rejection was set; None lets the threshold follow the stream. */
export interface RejectionDetails {
  max_known_rejected: number | null;
}

/** Reject at most this share of known images; null lets the threshold follow the stream. */
export interface RejectionLimit {
  /** The last edit that the client has seen. */
  on: number;
  max_known_rejected: number | null;
}

/** Remove images from the review, so that they are neither learnt nor grouped again. */
export interface Remove {
  /** The last edit that the client has seen. */
  on: number;
  act: "remove";
  items: number[];
}

/** Images were removed. */
export interface RemoveDetails {
  images: number;
}

/** Changes of folders were read back: how many groups were named, and images moved and removed. */
export interface ReviewDetails {
  named: number;
  moved: number;
  removed: number;
}

/** Switch to a version of the recogniser. */
export interface Rollback {
  /** The last edit that the client has seen. */
  on: number;
  version: number;
}

/** Another version was put to use. */
export interface RollbackDetails {
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

/** Split a group into n groups by clustering its images. */
export interface Split {
  /** The last edit that the client has seen. */
  on: number;
  act: "split";
  group: number;
  n: number;
}

/** A group was split; ``parts`` are the resulting groups. */
export interface SplitDetails {
  group: number;
  parts: number[];
}

/** The status of the workspace. */
export interface Status {
  name: string;
  embedder: string;
  version: Version | null;
  versions: number;
  counts: Record<string, number>;
  discovered: DiscoverDetails | Nothing;
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

/** What is rejected: images with a score above ``value``. */
export interface Threshold {
  value: number;
  /** What it was estimated from: "bound", "labelled" or "stream". */
  source: string;
  /** The share of known images that it rejects, measured on held-out ones. */
  known_rejected: number;
  /** Estimated share of the stream that is of known classes. */
  known_share?: number | null;
  /** Expected HNA on the stream. */
  hna?: number | null;
}

/** Withdraw the confirmation of a group. */
export interface Unconfirm {
  /** The last edit that the client has seen. */
  on: number;
  act: "unconfirm";
  group: number;
}

/** An edit was undone or redone: its number and verb. */
export interface UndoDetails {
  edit: number;
  verb: string;
}

/** What was undone. */
export interface Undone {
  edit: number;
  groups: number[];
  undone: Entry;
}

/** Open stacks of near copies, such as the images of a burst, so that each image is moved by itself. */
export interface Unstack {
  /** The last edit that the client has seen. */
  on: number;
  act: "unstack";
  items: number[];
}

/** Stacks of images were opened. */
export interface UnstackDetails {
  images: number;
}

/** A version of the recogniser. */
export interface Version {
  id: number;
  parent: number | null;
  phase: number;
  classes: string[];
  at: string;
  in_use: boolean;
  threshold: Threshold | null;
  report: LearningReport | null;
}

/** What each address of the API takes and gives, by method and path. */
export interface Operations {
  /** Recognise known classes and reject others: feature vectors (JSON, or numpy's format), or images. */
  "POST /recognize": {
    query?: { keep?: boolean; top?: number };
    body: { vectors: number[][]; } | FormData;
    answer: Recognized[];
  };
  /** Return the status of the workspace. */
  "GET /status": {
    answer: Status;
  };
  /** Return all versions of the recogniser, the oldest first. */
  "GET /versions": {
    answer: Version[];
  };
  /** Return the statistics and accuracy of all versions, the oldest first. */
  "GET /phases": {
    answer: Phase[];
  };
  /** Return the known classes with their exemplars. */
  "GET /classes": {
    answer: Class[];
  };
  /** Return the limit on rejection, and how many images of the stream other limits would have rejected. */
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
  /** Return the label of every image and where it comes from. */
  "GET /export": {
    query?: { format?: "csv" | "json" | "coco" };
    answer: any;
  };
  /** Return the files that could not be used. */
  "GET /failures": {
    answer: Failure[];
  };
  /** Switch to a version of the recogniser; items that it has not learnt are under review again. */
  "POST /rollback": {
    body: Rollback;
    answer: EditMade;
  };
  /** Return all groups, in the order of the review. */
  "GET /groups": {
    answer: Groups;
  };
  /** Return images of a group, the most typical first, or the odd ones out; `stacked` shows one of each stack. */
  "GET /groups/{id}/items": {
    path: { id: number };
    query?: { offset?: number; limit?: number; order?: "typical" | "odd"; stacked?: boolean };
    answer: ItemPage;
  };
  /** Return the questions about groups that save most work; an answer is the edit that comes with it. */
  "GET /questions": {
    query?: { limit?: number };
    answer: Questions;
  };
  /** Return the details of an image. */
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
  /** Undo the last edit, if it is the one that the client saw. */
  "POST /undo": {
    body: On;
    answer: Undone;
  };
  /** Redo the edit that was undone last, if the last edit is the one that the client saw. */
  "POST /redo": {
    body: On;
    answer: Redone;
  };
  /** Return all images under review on a plane: what looks alike lies close together. */
  "GET /map": {
    answer: Map;
  };
  /** Return what the job adapt would use, whether it is possible, and how long it would take here. */
  "GET /adaptation": {
    answer: AdaptationPlan;
  };
  /** Return the last hundred jobs, the latest first. */
  "GET /jobs": {
    answer: Job[];
  };
  /** Add a job; jobs run one after another in the order in which they were added. */
  "POST /jobs": {
    body: Discover | Learn | Adapt;
    answer: Job;
  };
  /** Return a job. */
  "GET /jobs/{id}": {
    path: { id: number };
    answer: Job;
  };
  /** Cancel a job: a running one stops at its next step without a change; one that has made its change stays done. */
  "POST /jobs/{id}/cancel": {
    path: { id: number };
    answer: Job;
  };
  /** Server-sent events: `job` with a job, `edit` with what was changed by whom, `map`, `adaptation`, `ping`. */
  "GET /events": {
    answer: null;
  };
  /** Change groups; refused if someone else has changed the same ones since the edit that the client saw. */
  "POST /edits": {
    body: Name | Confirm | Unconfirm | Move | Separate | Remove | Unstack | Merge | Split | Keep | Compare | Divide | Regroup;
    answer: Edited;
  };
  /** Return who is logged in. */
  "GET /session": {
    answer: Session;
  };
  /** Begin a session with a token; the answer sets a cookie. A valid token is never refused. */
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

/** The details of an entry of the history, by its verb. */
export interface Details {
  init: InitDetails;
  recognize: RecognizeDetails;
  discover: DiscoverDetails;
  learn: LearnDetails;
  adapt: AdaptDetails;
  rollback: RollbackDetails;
  rejection: RejectionDetails;
  review: ReviewDetails;
  name: NameDetails;
  confirm: ConfirmDetails;
  unconfirm: ConfirmDetails;
  keep: KeepDetails;
  move: MoveDetails;
  separate: MoveDetails;
  remove: RemoveDetails;
  unstack: UnstackDetails;
  merge: MergeDetails;
  split: SplitDetails;
  compare: CompareDetails;
  divide: DivideDetails;
  regroup: RegroupDetails;
  undo: UndoDetails;
  redo: UndoDetails;
}
