// Made by `make types` from the OpenAPI document of the service: change src/opengcd/service/wire/ instead.

/** A project that lies elsewhere. */
export interface AddProject {
  /** A path on the machine of the server. */
  path: string;
}

/** A project that was added. */
export interface Added {
  /** Its name in addresses. */
  key: string;
}

/** A network that turns images into vectors. */
export interface Backbone {
  /** How it is chosen. */
  name: string;
  /** What to call it. */
  title: string;
  /** What it is good for. */
  about: string;
  /** Where it is. */
  where: string;
  /** Whether it is for tests only. */
  toy?: boolean;
}

/** Whether a network can be used here. */
export interface BackboneCheck {
  /** The network. */
  name: string;
  /** Whether it can be used. */
  usable: boolean;
  /** Why it cannot; empty if it can. */
  problem: string;
  /** How its output becomes one vector. */
  pooling?: string | null;
  /** How many numbers a vector has. */
  width?: number | null;
  /** Seconds per image on this machine, one image at a time. */
  seconds?: number | null;
}

/** The networks to choose from. */
export interface Backbones {
  /** Those on this machine first. */
  backbones: Backbone[];
}

/** A network to try. */
export interface CheckBackbone {
  /** The name of a network on the Hugging Face hub, or a folder or an `.onnx` file of this machine. */
  name: string;
  /** Which output of the network is the vector: its class token (`cls`), the mean over all patches (`mean`), or what it returns for a whole image (`pooled`); null for the first of them that it has. */
  pooling?: "cls" | "mean" | "pooled" | null;
}

/** The check of a network that runs, or the last one. */
export interface Checking {
  /** Tells checks apart. */
  id: string;
  /** How it is. */
  state: "running" | "done" | "cancelled";
  /** What was asked for. */
  request: CheckBackbone;
  /** What it does now, while it runs. */
  stage: "starting" | "downloading" | "loading";
  /** Bytes that have been downloaded. */
  done: number;
  /** Bytes to download; 0 while nothing is downloaded. */
  total: number;
  /** Estimated seconds that the download will still take; null if unknown. */
  seconds_left: number | null;
  /** What it has found; null unless it is done. */
  result?: BackboneCheck | null;
}

/** The check of a network that runs, or the last one. */
export interface CheckingState {
  /** Null if there is none. */
  checking: Checking | null;
}

/** Why a request is not possible in the present state of the workspace. */
export interface Conflict {
  /** What happened and what to do, in words for a person to read. */
  detail: string;
  /** The edit of somebody else that is in the way; null if there is another reason. */
  conflict?: ConflictingEdit | null;
}

/** The edit by which somebody else changed what a request is about. */
export interface ConflictingEdit {
  /** The number of the edit. */
  edit: number;
  /** Who made it. */
  who: string;
  /** Its verb, such as `name` or `move`. */
  verb: string;
}

/** The project that is being created, or the last one. */
export interface Creation {
  /** Tells creations apart. */
  id: string;
  /** How it is. */
  state: "running" | "done" | "failed" | "cancelled";
  /** What was asked for. */
  request: NewProject;
  /** What it does now. */
  stage: string;
  /** Steps of the stage that are done. */
  done: number;
  /** Steps of the stage; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the stage will still take; null if unknown. */
  seconds_left: number | null;
  /** Why it failed; null unless it did. */
  error?: string | null;
  /** The project, once it is done. */
  key?: string | null;
  /** How many images it has learnt, once it is done. */
  images: number;
  /** How many files could not be used, once it is done. */
  unusable: number;
  /** Some of them, with reasons. */
  reasons: string[];
}

/** The project that is being created, or the last one that nobody has closed. */
export interface CreationState {
  /** Null if there is none. */
  creation: Creation | null;
}

/** An upload that is complete. */
export interface Finished {
  /** How many files it has, after zips were unpacked. */
  files: number;
}

/** What is in a folder of this machine. */
export interface FolderListing {
  /** The folder. */
  path: string;
  /** The folder that holds it; null for the outermost one. */
  parent: string | null;
  /** The folders in it. */
  folders: string[];
  /** Tables, networks and zips in it. */
  files: string[];
  /** How many images are in it, by their names. */
  images: number;
  /** How many videos are in it, by their names. */
  videos: number;
  /** Whether there is more in it than is listed. */
  more: boolean;
  /** Folders to begin at. */
  places: Place[];
}

/** The folder of projects. */
export interface Home {
  /** Where new projects are made. */
  folder: string;
  /** Whether folders of this machine may be named. */
  local: boolean;
  /** All projects, sorted by name. */
  projects: Project[];
}

/** A class of labelled images. */
export interface KnownClass {
  /** The name of the class. */
  label: string;
  /** How many files it has, or boxes if these have the labels. */
  files: number;
}

/** The labelled images or vectors of a new project. */
export interface KnownImages {
  /** A folder of this machine. */
  folder?: string | null;
  /** Or an upload that is complete. */
  upload?: string | null;
  /** The list of files with labels (CSV with the columns file and label, JSON lines, COCO) or the file of labelled vectors (.npz, .parquet, or state.json of a dataset on disk), relative to the folder or the upload, or a path of this machine; null if each class has a folder. */
  table?: string | null;
  /** A file of boxes from MegaDetector or in COCO's format, named like the list: each box becomes an image of its own; null for whole images. */
  boxes?: string | null;
  /** The lowest confidence of a box that is used. */
  min_confidence?: number;
  /** Whether the class of each box is that which the file of boxes gives to it: its category in COCO's format, or what a classifier has said in MegaDetector's. Then folders and `table` are not used. */
  box_labels?: boolean;
  /** Frames per second that are taken of videos. */
  fps?: number;
}

/** The classes of some labelled images. */
export interface KnownPreview {
  /** The classes, sorted by name. */
  classes: KnownClass[];
  /** How many files they have together. */
  files: number;
  /** How many of them are videos. */
  videos: number;
  /** What is left out, and why. */
  notes: string[];
  /** Lists among them that could hold the labels. */
  tables: string[];
  /** Files of vectors among them. */
  vectors: string[];
  /** JSON files among them that could hold boxes. */
  boxes: string[];
  /** Why they cannot be used; empty if they can. */
  problem: string;
}

/** A token to sign in with, and optionally the name of the person. */
export interface LogIn {
  /** A token from `opengcd token`. */
  token: string;
  /** The name that the history shows before that of the token. */
  who?: string | null;
}

/** A project to create. */
export interface NewProject {
  /** Its name. */
  name: string;
  /** Images of the classes that it knows from the start. */
  known: KnownImages;
  /** The network that turns images into vectors; it is not used if vectors are given. */
  backbone: string;
  /** What may be left as it is. */
  settings?: ProjectSettings;
}

/** A folder to begin at. */
export interface Place {
  /** What it is called. */
  name: string;
  /** Where it is. */
  path: string;
}

/** Why a request failed. */
export interface Problem {
  /** What happened and what to do, in words for a person to read. */
  detail: string;
}

/** A project of the list. */
export interface Project {
  /** Its name in addresses: `/projects/KEY/`. */
  key: string;
  /** The name of its folder. */
  name: string;
  /** Its folder. */
  path: string;
  /** Whether it lies outside of the folder of projects. */
  elsewhere: boolean;
  /** Why it cannot be opened; null if it can. */
  problem?: string | null;
  /** How many images it has. */
  images: number;
  /** How many classes it knows. */
  classes: number;
  /** How many groups are to be reviewed. */
  groups: number;
  /** How many images are in them. */
  to_review: number;
  /** How many images are ready to be learnt. */
  to_learn: number;
  /** How many images are to be grouped. */
  rejected: number;
  /** The verb of the job that runs or waits; null if there is none. */
  job?: string | null;
  /** When it was last changed, in UTC; null if never. */
  changed_at?: string | null;
  /** Who changed it. */
  changed_by?: string | null;
  /** The verb of that change. */
  changed_verb?: string | null;
  /** What to do next: `wait` for a job, or the step that the status of the project names. */
  next: "wait" | "init" | "view" | "adapt" | "review" | "learn" | "discover" | "recognize" | "export";
}

/** Settings of a new project that have good defaults. */
export interface ProjectSettings {
  /** The methods of all steps. */
  preset?: "best" | "paper" | "robust" | "authors";
  /** The classifier; null for that of the preset. */
  classifier?: "svm" | "mlp" | "xgb" | "logistic" | null;
  /** The largest number of exemplars; null for the default. */
  memory?: number | null;
  /** The largest share of known images that may be rejected; null to follow the images that arrive. */
  max_known_rejected?: number | null;
  /** Which output of the network is the vector: its class token (`cls`), the mean over all patches (`mean`), or what it returns for a whole image (`pooled`); null for the first of them that it has. */
  pooling?: "cls" | "mean" | "pooled" | null;
  /** 16-bit arithmetic on GPUs only (auto), on all devices (half), or never (full). */
  precision?: "auto" | "half" | "full";
  /** The seed of the random number generator. */
  seed?: number;
}

/** How much of a file has arrived. */
export interface Received {
  /** Where the next piece begins; the size of the file if it is complete. */
  received: number;
}

/** Who is signed in, and what they may do. */
export interface Session {
  /** The name that the history shows. */
  who: string;
  /** What the token allows: `read`, or `read` and `write`. */
  scopes: string[];
  /** To be sent in the header `X-CSRF-Token` of every request other than GET that is authenticated by the cookie; empty if the request was authenticated by a token. */
  csrf: string;
}

/** An upload that was begun. */
export interface Upload {
  /** Its name, which the other requests about it need. */
  id: string;
  /** The largest number of bytes in one piece. */
  piece: number;
}

/** A file of an upload. */
export interface UploadedFile {
  /** Its name, with folders. */
  path: string;
  /** Bytes that have arrived; sending goes on there. */
  received: number;
  /** Bytes of the whole file. */
  size: number;
}

/** What each address of the API takes and gives, by method and path. */
export interface Operations {
  /** Return all projects with their state; one that cannot be opened is listed with the reason. */
  "GET /home": {
    answer: Home;
  };
  /** Add a workspace that lies elsewhere on this machine to the list. */
  "POST /home": {
    body: AddProject;
    answer: Added;
  };
  /** Return the networks on this machine that can turn images into vectors, with what they are good for. */
  "GET /backbones": {
    answer: Backbones;
  };
  /** Return how far the check of a network is, or how the last one ended. */
  "GET /backbones/check": {
    answer: CheckingState;
  };
  /** Turn one image into a vector by a network, in the background; it is downloaded if it is not on this machine. */
  "POST /backbones/check": {
    body: CheckBackbone;
    answer: Checking;
  };
  /** Return how far the creation of a project is, or how the last one ended. */
  "GET /creation": {
    answer: CreationState;
  };
  /** Create a project in the background: all of it, or nothing. */
  "POST /creation": {
    body: NewProject;
    answer: Creation;
  };
  /** Show the result of the last creation no more. */
  "DELETE /creation": {
    answer: null;
  };
  /** Take a project from elsewhere off the list. Its files stay. */
  "DELETE /home/{key}": {
    path: { key: string };
    answer: null;
  };
  /** Cancel the check of a network: its download ends. */
  "POST /backbones/check/cancel": {
    answer: CheckingState;
  };
  /** Return the classes of labelled images, before a project is created from them. */
  "POST /known": {
    body: KnownImages;
    answer: KnownPreview;
  };
  /** Cancel the creation of a project. It ends at its next step, and nothing of it is kept. */
  "POST /creation/cancel": {
    answer: CreationState;
  };
  /** Return what is in a folder of the server's machine, for a person at that machine. */
  "GET /folders": {
    query?: { path?: string | null };
    answer: FolderListing;
  };
  /** Begin an upload of files in pieces. It can be continued for two weeks, even after a restart. */
  "POST /uploads": {
    answer: Upload;
  };
  /** Return what has arrived of each file: sending goes on there. */
  "GET /uploads/{upload}": {
    path: { upload: string };
    answer: UploadedFile[];
  };
  /** Delete what has arrived. */
  "DELETE /uploads/{upload}": {
    path: { upload: string };
    answer: null;
  };
  /** Send a piece of a file. If it does not follow what has arrived, nothing is written: send what is missing. */
  "PUT /uploads/{upload}/file": {
    path: { upload: string };
    query: { path: string; size: number; offset?: number };
    answer: Received;
  };
  /** Unpack the zips among the files once everything has arrived. */
  "POST /uploads/{upload}/finish": {
    path: { upload: string };
    answer: Finished;
  };
  /** Return who is signed in, and what they may do. */
  "GET /session": {
    answer: Session;
  };
  /** Begin a session with a token: the answer sets a cookie. A token that works is never refused. */
  "POST /session": {
    body: LogIn;
    answer: Session;
  };
  /** End the session of the cookie. */
  "DELETE /session": {
    answer: null;
  };
}
