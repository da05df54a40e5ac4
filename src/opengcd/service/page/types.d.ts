// Made by `make types` from the OpenAPI document of the service: change src/opengcd/service/wire/ instead.

/** The accuracy of a version of the recogniser, from 0 to 1. */
export interface Accuracy {
  /** On the exemplars. */
  memory?: number | null;
  /** On the images that the version has just learnt. */
  confirmed?: number | null;
}

/** An edit that can be undone or redone. */
export interface Act {
  /** Its number. */
  id: number;
  /** Its verb, such as `name` or `discover`. */
  verb: string;
}

/** Adapt the network to the images of the workspace, and use it if a rehearsal shows that this helps. */
export interface Adapt {
  /** Rehearse only, and change nothing. */
  dry_run?: boolean;
  /** Use the adapted network even if it does not help in the rehearsal. */
  force?: boolean;
  /** How the last blocks are trained: `lora` trains low-rank changes of their weights, `blocks` trains all their weights. */
  method?: "lora" | "blocks" | null;
  /** How many of the network's last blocks are trained. */
  blocks?: number | null;
  /** How many times all images are passed over. */
  epochs?: number | null;
  /** How many images each step of the training takes. */
  batch_size?: number | null;
  /** Whether images without a label take part. */
  unlabelled?: boolean | null;
  /** What the job is to do. */
  verb: "adapt";
}

/** The network was adapted, or a rehearsal showed no benefit and it was left unchanged. */
export interface AdaptDetails {
  /** Whether the adapted network was put into use. */
  switched: boolean;
  /** The number of images. */
  images: number;
  /** How many of the images had no label. */
  unlabelled: number;
  /** Images that were left out because their files are missing or have changed. */
  missing: number;
  /** Why the estimate cannot be relied on, or why nothing was changed; empty if there is no reason. */
  reason: string;
  /** A hash of all that the adapted network is made from. */
  run: string;
  /** Seconds that each step took, by its name. */
  seconds: Record<string, number>;
  /** The number of the version of the recogniser. */
  version?: number | null;
  /** What the rehearsal measured; null if there was none. */
  rehearsed?: Record<string, number> | null;
}

/** A job that adapts the network to the images of the workspace. */
export interface AdaptJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "adapt";
  /** How the network is to be adapted. */
  arguments: AdaptOptions;
  /** Null before the first epoch. */
  curves: Curves | null;
  /** Null until the job is done. */
  result: AdaptResult | null;
}

/** How to adapt the network. What is left out is chosen by the number of images and the device. */
export interface AdaptOptions {
  /** Rehearse only, and change nothing. */
  dry_run?: boolean;
  /** Use the adapted network even if it does not help in the rehearsal. */
  force?: boolean;
  /** How the last blocks are trained: `lora` trains low-rank changes of their weights, `blocks` trains all their weights. */
  method?: "lora" | "blocks" | null;
  /** How many of the network's last blocks are trained. */
  blocks?: number | null;
  /** How many times all images are passed over. */
  epochs?: number | null;
  /** How many images each step of the training takes. */
  batch_size?: number | null;
  /** Whether images without a label take part. */
  unlabelled?: boolean | null;
}

/** The result of the job ``adapt``. */
export interface AdaptResult {
  /** Whether the adapted network is in use. */
  switched: boolean;
  /** The new version of the recogniser; null if there is none. */
  version: number | null;
  /** Why nothing was changed; empty if the adapted network is in use. */
  reason: string;
  /** How many images the network was adapted to or rehearsed with. */
  images: number;
  /** Images that were left out because their files are missing or have changed. */
  missing: number;
  /** Null if too few classes are known to hide some of them. */
  rehearsed: Rehearsal | null;
  /** Seconds that each step took, by its name. */
  seconds: Record<string, number>;
}

/** What the job ``adapt`` would use, whether it is possible, and how long it would take. */
export interface AdaptationPlan {
  /** Whether the network can be adapted here. */
  possible: boolean;
  /** Why it cannot; empty if it can. */
  reason: string;
  /** How many images with a label it would use. */
  images: number;
  /** How many images of the stream have no label, and could be used too. */
  unlabelled: number;
  /** How long it would take on this machine; null if that is not known. */
  seconds: number | null;
  /** The same for a dry run. */
  rehearsal_seconds: number | null;
  /** Whether the time is being measured; the event `adaptation` tells when it is known. */
  measuring: boolean;
  /** Where the network would be trained: `cpu` or `cuda`; empty if it is not possible. */
  device: string;
  /** The last adaptation or rehearsal; null if there was none. */
  last: LastAdaptation | null;
}

/** What was measured when the network was adapted. */
export interface AdaptationReport {
  /** The number of images with a label. */
  labelled: number;
  /** The number of images without one. */
  unlabelled: number;
  /** Null if too few classes are known to hide some of them. */
  rehearsed: Rehearsal | null;
  /** The curve of the training. */
  curve: Epoch[];
  /** The curve of the training in the rehearsal. */
  rehearsal_curve: Epoch[];
  /** Seconds that each step took, by its name. */
  seconds: Record<string, number>;
}

/** Images to add: an upload, or a folder of the server's machine. */
export interface AddImages {
  /** An upload that is complete. */
  upload?: string | null;
  /** A folder, or a list of images; only a person at the server's machine may name one. */
  folder?: string | null;
  /** Frames per second that are taken of videos; null for one. */
  fps?: number | null;
  /** A file of boxes in it, from MegaDetector or in COCO's format: each box becomes an image. */
  boxes?: string | null;
  /** The lowest confidence of a box that is used. */
  min_confidence?: number;
  /** A CSV file in it, with the columns file and time: when images were taken, and videos begin. */
  times?: string | null;
}

/** How often two people gave the same images the same name. */
export interface Agreement {
  /** Their names. */
  people: string[];
  /** How many images both have named or confirmed. */
  images: number;
  /** How many of these have the same name by both. */
  same: number;
  /** The same as a share. */
  share: number;
  /** Cohen's kappa: 1 if they always agree, 0 if as often as by chance. */
  kappa: number | null;
}

/** An answer to a question. */
export interface Answer {
  /** The key that gives this answer on the page and in the terminal. */
  key: string;
  /** What the answer means. */
  text: string;
  /** The edit that gives the answer: send it to `/edits`, with `on` added. */
  edit: Record<string, any>;
}

/** Assign a group to a person, who is to review it; without a name, to nobody. */
export interface Assign {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "assign";
  /** Number of the group. */
  group: number;
  /** Name of the person. If a token or the history has the name in another spelling, that person is meant. */
  person?: string | null;
}

/** A group was assigned to a person, or to nobody. */
export interface AssignDetails {
  /** The number of the group. */
  group: number;
  /** The name of the person; null if the group is assigned to nobody. */
  person?: string | null;
}

/** What the camera wrote down about an image (EXIF); null where it did not. */
export interface Camera {
  /** When it was taken, by the camera's clock, as in 2026-05-01 06:30:12. */
  taken: string | null;
  /** The make and model of the camera. */
  camera: string | null;
  /** The model of the lens. */
  lens: string | null;
  /** The exposure time in seconds. */
  exposure: number | null;
  /** The f-number. */
  aperture: number | null;
  /** The sensitivity. */
  iso: number | null;
  /** The focal length in millimetres. */
  focal_length: number | null;
  /** Degrees north. */
  latitude: number | null;
  /** Degrees east. */
  longitude: number | null;
}

/** Verify all data of the workspace, and repair what can be computed again. */
export interface Check {
  /** What the job is to do. */
  verb: "check";
  /** Whether to repair what can be computed from the images. */
  repair?: boolean;
}

/** A job that verifies the workspace. */
export interface CheckJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "check";
  /** Null until the job is done. */
  result: CheckResult | null;
}

/** What the job ``check`` found. */
export interface CheckResult {
  /** The damage, at most 200 parts of it; empty if there is none. */
  findings: Finding[];
  /** How many parts are damaged. */
  total: number;
  /** Whether it was to be repaired. */
  repair: boolean;
}

/** A known class with its exemplars. */
export interface Class {
  /** The name of the class. */
  label: string;
  /** How many images of it were learnt. */
  learnt: number;
  /** The numbers of the images that are kept of it. */
  exemplars: number[];
}

/** How many held-out images of a class are recognised. */
export interface ClassAccuracy {
  /** The name of the class. */
  label: string;
  /** The number of its images. */
  images: number;
  /** How many of them are recognised. */
  right: number;
  /** The share that the version before recognised; null if it did not know the class or was not measured. */
  before: number | null;
}

/** How many classes the last discovery found, and the scores behind this number. */
export interface ClassNumber {
  /** The number of classes, known and new ones together. */
  k: number;
  /** The interval that holds the number of classes with a probability of 90 %; null if it is not known. */
  interval: [number, number] | null;
  /** Whether the estimate can be relied on. */
  trusted: boolean;
  /** Why it cannot; empty if it can. */
  reason: string;
  /** How many classes are known. */
  known: number;
  /** Pairs of a number of classes and its score: the higher, the better the number fits. Empty if the number was given and not estimated. */
  curve: [number, number][];
  /** How many groups are confirmed. */
  confirmed: number;
}

/** Add a comment to a group. It is never refused because of what others do. */
export interface Comment {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "comment";
  /** Number of the group. */
  group: number;
  /** The comment: one line of at most 500 characters. */
  text: string;
}

/** A comment was added to a group. */
export interface CommentDetails {
  /** The number of the group. */
  group: number;
  /** The number of the comment. */
  comment: number;
  /** What the comment says. */
  text: string;
}

/** Say whether two groups are the same class: they are merged, or discover keeps them apart. */
export interface Compare {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "compare";
  /** Number of the group whose images move if they are the same. */
  group: number;
  /** Number of the other group. */
  into: number;
  /** Whether they are the same class. */
  same?: boolean;
}

/** A person said whether two groups are the same class; if so, they were merged. */
export interface CompareDetails {
  /** The number of the group. */
  group: number;
  /** The number of the other group. */
  into: number;
  /** Whether both groups are the same class. */
  same: boolean;
}

/** Confirm a named group, so that the next learn includes it; a second person who confirms it agrees with the first. */
export interface Confirm {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "confirm";
  /** Number of the group. */
  group: number;
}

/** A group was confirmed, or its confirmation was withdrawn. */
export interface ConfirmDetails {
  /** The number of the group. */
  group: number;
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

/** The held-out images of a class that are taken for a class. */
export interface ConfusedImages {
  /** The numbers of the images, the clearest cases first. */
  items: number[];
}

/** How many held-out images of a class are taken for another class. */
export interface ConfusedPair {
  /** The class that they were learnt under. */
  label: string;
  /** The class that they are taken for. */
  predicted: string;
  /** The number of these images. */
  images: number;
  /** The same for the version before; null if it did not know both classes or was not measured. */
  before: number | null;
}

/** The label of learnt images was corrected, confirmed, or taken away. */
export interface CorrectDetails {
  /** The number of images. */
  images: number;
  /** The name that the group, the class or the images got. */
  label?: string | null;
}

/** How many images of a class there are. */
export interface Count {
  /** The name of the class. */
  label: string;
  /** The number of images. */
  count: number;
}

/** The curves of the two trainings of an adaptation, as far as they have got. */
export interface Curves {
  /** The training of the rehearsal. */
  rehearsing?: Epoch[];
  /** The training itself. */
  training?: Epoch[];
}

/** Remove learnt images from what is learnt: the next learn forgets them. */
export interface Discard {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "discard";
  /** Numbers of the images. */
  items: number[];
}

/** Group the images of new classes. */
export interface Discover {
  /** What the job is to do. */
  verb: "discover";
  /** The number of classes, known and new ones together; without it, the number is estimated. */
  k?: number | null;
}

/** Groups were found. */
export interface DiscoverDetails {
  /** The number of classes, known and new ones together. */
  k: number;
  /** The number of images. */
  images: number;
  /** How many images were assigned to a known class other than the one that recognition gave them. */
  returned: number;
  /** The number of groups of new classes. */
  groups: number;
  /** The number of the version of the recogniser. */
  version?: number | null;
  /** Whether the estimated number of classes can be relied on. */
  trusted?: boolean;
  /** Why the estimate cannot be relied on, or why nothing was changed; empty if there is no reason. */
  reason?: string;
  /** How many images were left as they were, because someone edited them in the meantime. */
  left_alone?: number | null;
  /** The interval that holds the number of classes with a probability of 90 %; null if it is not known. */
  k_interval?: number[] | null;
  /** How many stacks of near copies there were, each of which counted once. */
  stacks?: number | null;
  /** Pairs of a number of classes and its score; null if the number was given. */
  curve?: number[][] | null;
}

/** A job that groups rejected images into new classes. */
export interface DiscoverJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "discover";
  /** Null until the job is done. */
  result: DiscoverResult | null;
}

/** What the job ``discover`` found. */
export interface DiscoverResult {
  /** The number of classes, known and new ones together. */
  k: number;
  /** The interval that holds the number of classes with a probability of 90 %; null if it is not known. */
  k_interval: [number, number] | null;
  /** The number of images that were grouped. */
  items: number;
  /** How many of them were assigned to a known class other than the one that recognition gave them. */
  returned: number;
  /** The number of groups of new classes. */
  groups: number;
  /** Whether the estimated number of classes can be relied on. */
  trusted: boolean;
  /** Why it cannot; empty if it can. */
  reason: string;
  /** How many images were left as they were, because someone edited them in the meantime. */
  left_alone?: number;
}

/** Say that some images of a group are not of its class; they become a group of their own. */
export interface Divide {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "divide";
  /** Number of the group. */
  group: number;
  /** Numbers of the images that are not of its class. */
  items: number[];
  /** Whether the images that stay are a class: discover leaves the images of a class together, and groups others again. */
  one?: boolean;
  /** Whether the images that move are a class. */
  other?: boolean;
  /** Numbers of the images of either class that the person has looked at (default: all); regroup leaves these in their group. */
  seen?: number[] | null;
}

/** A person said that some images of a group, now in the group ``part``, are not of its class. */
export interface DivideDetails {
  /** The number of the group. */
  group: number;
  /** The number of the group that the images were moved to. */
  part: number;
  /** Whether the images that stayed are a class. */
  one: boolean;
  /** Whether the images that were moved are a class. */
  other: boolean;
  /** The numbers of the images that the person had looked at; null means all. */
  seen?: number[] | null;
}

/** The event `edit`: somebody has changed the workspace. */
export interface EditEvent {
  /** The number of the edit. */
  edit: number;
  /** Who made it. */
  who: string;
  /** What was done, such as `name` or `discover`. */
  verb: string;
  /** The numbers of the groups that have changed. */
  groups: number[];
}

/** The edit that was made. */
export interface EditMade {
  /** Its number. */
  edit: number;
}

/** What an edit has changed. */
export interface Edited {
  /** The number of the edit; that of the last one if nothing has changed. */
  edit: number;
  /** The numbers of the groups that have changed. */
  groups: number[];
  /** The group that holds the images of the edit now; null if that is not one group. */
  made: number | null;
  /** How many images were moved; null if the verb does not count them. */
  images: number | null;
}

/** A line of the history. */
export interface Entry {
  /** The number of the edit. */
  id: number;
  /** When, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who made it. */
  who: string;
  /** What was done, such as `name` or `discover`. */
  verb: string;
  /** More about it; the fields depend on the verb. */
  details: InitDetails | RecognizeDetails | DiscoverDetails | LearnDetails | AdaptDetails | RollbackDetails | RejectionDetails | TaxonomyDetails | ReviewDetails | NameDetails | ConfirmDetails | KeepDetails | MoveDetails | RemoveDetails | UnstackDetails | MergeDetails | SplitDetails | CompareDetails | DivideDetails | RegroupDetails | RenameClassDetails | MergeClassesDetails | CorrectDetails | AssignDetails | CommentDetails | TeachDetails | UndoDetails | Record<string, any>;
  /** Whether it is undone at present. */
  undone: boolean;
}

/** A point of the curves of a training. */
export interface Epoch {
  /** The epoch: how many times all images were passed over. */
  epoch: number;
  /** The loss, which the training minimises. */
  loss: number | null;
  /** The accuracy on labelled images that were held out of the training; null without any. */
  accuracy: number | null;
}

/** A format of exports. */
export interface ExportFormat {
  /** The name of the format, as `/export` takes it. */
  name: string;
  /** Its name for people. */
  title: string;
  /** What it holds or is for. */
  about: string;
  /** The suffix of the file: `zip` for a folder. */
  suffix: string;
  /** Whether a table of deployments is of use, or needed; `POST /export` takes it. */
  places: "none" | "used" | "needed";
}

/** An export with places. */
export interface ExportWanted {
  /** The name of the format. */
  format: string;
  /** Which images. */
  images?: "all" | "reviewed" | "new";
  /** A table of deployments in CSV, with the columns of Camtrap DP and `folder`: the end of the path of the images, such as `cam1`. */
  deployments?: string | null;
  /** Fields of the `datapackage.json` of Camtrap DP. */
  metadata?: Record<string, any> | null;
}

/** A file that could not be used. */
export interface Failure {
  /** The name of the file. */
  name: string;
  /** Why it could not be used. */
  reason: string;
}

/** A file of an image. */
export interface File {
  /** Where it is, on the machine of the workspace. */
  path: string;
  /** Whether it is still there with the content of the image, is missing, or has other content now. */
  state: "present" | "missing" | "changed";
}

/** Damage that was found. */
export interface Finding {
  /** The damaged file, or the part of the workspace. */
  what: string;
  /** What is wrong. */
  problem: string;
  /** What to do, or what was done. */
  remedy: string;
  /** Whether it was repaired. */
  repaired: boolean;
}

/** An upload that is complete. */
export interface Finished {
  /** How many files it has, after zips were unpacked. */
  files: number;
}

/** How many files of the workspace are in a folder. */
export interface FolderCount {
  /** The folder, on the machine of the workspace. */
  folder: string;
  /** The number of files. */
  count: number;
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

/** A group of images under review. */
export interface Group {
  /** Its number. */
  id: number;
  /** `novel`: images of a new class. `known`: images that were assigned to a known class. `removed`: images that were removed from the review. */
  kind: "novel" | "known" | "removed";
  /** Its name, or a provisional one. */
  label: string;
  /** Whether a person has named it. */
  named: boolean;
  /** Whether a person has confirmed it: then it will be learnt. */
  confirmed: boolean;
  /** How many images it has. */
  size: number;
  /** The root mean squared distance of its images to their centre: the smaller, the more alike. */
  cohesion: number | null;
  /** How likely it is a class, and not a chance cluster; null if that is not known. */
  probability: number | null;
  /** Whether nobody has named it, and it is more likely a chance cluster than a class. */
  doubtful: boolean;
  /** The numbers of its most typical images. */
  typical: number[];
  /** The known class that most of its images look like; null if there is none. */
  suggestion: string | null;
  /** Who is to review it; null if it is assigned to nobody. */
  assignee: string | null;
  /** Who has confirmed it; empty if nobody has, or if that was with an older version of OpenGCD. */
  confirmed_by: string[];
  /** How many comments it has. */
  comments: number;
}

/** A comment on a group. */
export interface GroupComment {
  /** Its number. */
  id: number;
  /** When, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who wrote it. */
  who: string;
  /** What it says: plain text. */
  text: string;
}

/** What is sure of the images of a group that was returned to a known class. */
export interface GroupTaxa {
  /** How many images the group has. */
  images: number;
  /** The largest share of images with a wrong name, as it was chosen. */
  error: number;
  /** From the broadest taxon to the class itself; empty without a taxonomy, while it is being calibrated, for groups of new classes, whose taxa are not known, and for groups of more than 2000 images. */
  taxa: GroupTaxon[];
}

/** How many images of a group surely belong to a taxon of its class. */
export interface GroupTaxon {
  /** The name of the taxon. */
  name: string;
  /** Its rank, such as `genus`. */
  rank: string;
  /** How many images surely belong to it. */
  images: number;
}

/** All groups, in the order of the review. */
export interface Groups {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** New classes first, the largest first, doubtful ones last. */
  groups: Group[];
}

/** What held-out images show of a version. */
export interface HeldOut {
  /** Null if it was not measured; the job `measure` does it for the version in use. */
  measured: Measured | null;
}

/** An image with its label, in a list of all images. */
export interface Image {
  /** Its number. */
  id: number;
  /** The name of its file. */
  name: string;
  /** Its present label, the name of a class or group, or `unknown`. */
  label: string;
  /** Where its label comes from, as in the `counts` of the status. */
  source: "learnt" | "reviewed" | "returned" | "grouped" | "removed" | "recognized" | "rejected" | "waiting";
  /** The number of its group; null if it is in none, or learnt. */
  group: number | null;
  /** The probability that the image is of no known class. */
  unknown: number | null;
  /** How likely the label is wrong, from 0 to 1; null if it was learnt, decided by a person, or there is none yet. */
  doubt: number | null;
  /** When the image was taken, by the camera's clock, or else when its file was last changed; null if unknown. */
  date: string | null;
  /** The person who gave the label; null if nobody did. */
  who: string | null;
  /** The number of its stack of near copies; null if it is in none. */
  stack: number | null;
  /** How many images of the stack are in the group, this one included. */
  copies: number;
}

/** What the list of images can be filtered by, as far as there are such images. */
export interface ImageChoices {
  /** All labels with their numbers of images, sorted by label. */
  labels: Count[];
  /** The folders with the most files, sorted by folder. */
  folders: FolderCount[];
  /** Who has given labels. */
  people: string[];
}

/** A page of a list of images. */
export interface ImagePage {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** The images, in the order that was asked for. */
  images: Image[];
  /** Send it as `after` to get the next page; null if this is the last one. */
  next: string | null;
}

/** How long a list of images is, and where its pages begin. */
export interface ImageStarts {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** How many images the list has. */
  total: number;
  /** For each page but the first, what to send as `after` to get it. */
  cursors: string[];
}

/** The deepest sure ranks of some images. */
export interface ImageTaxa {
  /** `none`: no known class has a rank above it. `calibrating`: the ranks are not known yet; ask again in a moment. `ready`: they are known. */
  state: "none" | "calibrating" | "ready";
  /** Without images of which not even the broadest rank is sure. */
  taxa: ImageTaxon[];
}

/** The deepest sure rank of an image. */
export interface ImageTaxon {
  /** The number of the image. */
  id: number;
  /** The deepest rank that is sure. */
  taxon: Taxon;
}

/** The first version was learnt. */
export interface InitDetails {
  /** How many classes there are, or their names. */
  classes: number;
  /** The number of images. */
  images: number;
  /** How many files could not be used. */
  bad: number;
}

/** An image. */
export interface Item {
  /** Its number. */
  id: number;
  /** The name of its file. */
  name: string;
  /** How likely the image belongs to its group, from 0 to 1; null if a person put it there. */
  probability: number | null;
  /** The probability that the image is of no known class. */
  unknown: number | null;
  /** Its label; null if the image is unknown. */
  label: string | null;
  /** The most likely known classes, each with its probability, the most likely first. */
  top: [string, number][];
  /** The number of its stack of near copies, such as a burst; null if no other image of a stack is in the group. */
  stack: number | null;
  /** How many images of the stack are in the group, this one included. */
  copies: number;
}

/** An image with its details. */
export interface ItemDetails {
  /** Its number. */
  id: number;
  /** The name of its file. */
  name: string;
  /** How likely the image belongs to its group, from 0 to 1; null if a person put it there. */
  probability: number | null;
  /** The probability that the image is of no known class. */
  unknown: number | null;
  /** Its label; null if the image is unknown. */
  label: string | null;
  /** The most likely known classes, each with its probability, the most likely first. */
  top: [string, number][];
  /** The number of its stack of near copies, such as a burst; null if no other image of a stack is in the group. */
  stack: number | null;
  /** How many images of the stack are in the group, this one included. */
  copies: number;
  /** The number of its group; null if it is in none. */
  group: number | null;
  /** The names of its files: several if copies of it were added. */
  paths: string[];
  /** Its width in pixels. */
  width: number;
  /** Its height in pixels. */
  height: number;
  /** Where its label comes from, as in the `counts` of the status. */
  source: string;
  /** Its files, with their folders. */
  files: File[];
  /** How likely the label is wrong, from 0 to 1; null if it was learnt, decided by a person, or there is none yet. */
  doubt: number | null;
  /** When the image was taken, by the camera's clock, or else when its file was last changed; null if unknown. */
  date: string | null;
  /** The person who gave the label; null if nobody did. */
  who: string | null;
  /** Where it was cut out, if it is a crop of another image; null otherwise. `/items/{id}/origin` is the whole image. */
  origin: Origin | null;
  /** Which frame of a video it is; null if it is not one. */
  video: VideoFrame | null;
}

/** Some of the images of a group. */
export interface ItemPage {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** How many images there are in all, or stacks if `stacked` was asked for. */
  total: number;
  /** The images. */
  items: Item[];
}

/** Long work that runs in the server. Its fields depend on ``verb``. */
export type Job = DiscoverJob | LearnJob | TeachJob | MeasureJob | CheckJob | AdaptJob | RecognizeJob;

/** Say that a group is one class: discover leaves its images together. */
export interface Keep {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "keep";
  /** Number of the group. */
  group: number;
  /** Numbers of the images that the person has looked at (default: all); regroup leaves these in the group. */
  seen?: number[] | null;
}

/** A person said that a group is one class. */
export interface KeepDetails {
  /** The number of the group. */
  group: number;
  /** The numbers of the images that the person had looked at; null means all. */
  seen?: number[] | null;
}

/** Say that the label of learnt images is right, so that they are no longer suspected. */
export interface KeepLabel {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "keep_label";
  /** Numbers of the images. */
  items: number[];
}

/** A class of labelled images. */
export interface KnownClass {
  /** The name of the class. */
  label: string;
  /** How many files it has, or boxes if these have the labels. */
  files: number;
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

/** Where labelled images or vectors are, and how they are labelled. */
export interface LabelledFiles {
  /** A folder of this machine. */
  folder?: string | null;
  /** Or an upload that is complete. */
  upload?: string | null;
  /** The list of files with labels (CSV with the columns file and label, JSON lines, COCO) or the file of labelled vectors (.npz, .parquet, or state.json of a dataset on disk), relative to the folder or the upload, or a path of this machine; null if each class has a folder. */
  table?: string | null;
}

/** A learnt image that looks like another one. */
export interface LabelledNeighbour {
  /** Its number. */
  id: number;
  /** How different it looks: 1 minus the cosine of the angle between both vectors. */
  distance: number;
  /** Its class. */
  label: string;
}

/** The last adaptation of the network, or the last rehearsal of one. */
export interface LastAdaptation {
  /** When, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** Whether it is undone at present. */
  undone: boolean;
  /** Whether the adapted network was put into use. */
  switched: boolean;
  /** The version of the recogniser that it made; null if there is none. */
  version?: number | null;
  /** Why nothing was changed; empty if something was. */
  reason: string;
  /** How many images were used. */
  images: number;
  /** How many of them had no label. */
  unlabelled: number;
  /** Images that were left out because their files are missing or have changed. */
  missing: number;
  /** Null if too few classes were known to hide some of them. */
  rehearsed?: Rehearsal | null;
  /** Seconds that each step took, by its name. */
  seconds: Record<string, number>;
}

/** Learn the confirmed groups, which begins a new phase. */
export interface Learn {
  /** What the job is to do. */
  verb: "learn";
}

/** A version was learnt. */
export interface LearnDetails {
  /** The number of the version of the recogniser. */
  version: number;
  /** The number of images. */
  images: number;
  /** The names of the new classes. */
  new_classes: string[];
  /** How many images were learnt before and have another label now, or none; null if none. */
  corrected?: number | null;
}

/** A job that learns the confirmed groups. */
export interface LearnJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "learn";
  /** Null until the job is done. */
  result: LearnResult | null;
}

/** The version that the job ``learn`` made. */
export interface LearnResult {
  /** The number of the version. */
  version: number;
  /** The names of the classes that it knows. */
  classes: string[];
  /** The accuracy of the version before it, on the same images. */
  before?: Accuracy | null;
  /** Its own accuracy. */
  after?: Accuracy | null;
}

/** What the job ``learn`` would learn. */
export interface Learnable {
  /** Images of new classes. */
  new: Count[];
  /** More images of known classes. */
  known: Count[];
  /** Images that were learnt before and now have another label. */
  corrected: number;
  /** Images that were learnt before and were removed. */
  forgotten: number;
  /** The number of all these images. */
  total: number;
}

/** What was measured when a version was learnt. */
export interface LearningReport {
  /** How full the exemplar memory is. */
  memory: Memory;
  /** The accuracy of the version. */
  after: Accuracy;
  /** The accuracy of the version before it, on the same images. */
  before?: Accuracy | null;
  /** Null if the network was not adapted for this version. */
  adapted?: AdaptationReport | null;
}

/** A token to sign in with, and optionally the name of the person. */
export interface LogIn {
  /** A token from `opengcd token`. */
  token: string;
  /** The name that the history shows before that of the token. */
  who?: string | null;
}

/** The group that a page shows. */
export interface Look {
  /** A name for the page, at random: letters and digits, at least eight. */
  page: string;
  /** The number of the group; null if the page shows none. */
  group: number | null;
}

/** The people who look at a group now. */
export interface Looking {
  /** The number of the group. */
  group: number;
  /** Their names, as the history shows them. */
  people: string[];
}

/** All images under review as points of a plane: similar images lie close together. All lists have one order. */
export interface Map {
  /** The numbers of the images. */
  items: number[];
  /** Horizontal places, from 0 to 1. */
  x: number[];
  /** Vertical places, from 0 to 1. */
  y: number[];
  /** The numbers of their groups. */
  group: number[];
  /** False while a better map is being drawn; the event `map` tells when it is ready. */
  drawn: boolean;
}

/** Measure the version in use on held-out images; the job ``learn`` does it, too. */
export interface Measure {
  /** What the job is to do. */
  verb: "measure";
}

/** A job that measures the version in use on held-out images. */
export interface MeasureJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "measure";
  /** Null until the job is done. */
  result: MeasureResult | null;
}

/** The version that the job ``measure`` measured. */
export interface MeasureResult {
  /** The number of the version. */
  version: number;
}

/** How well a version recognises its exemplars, each judged by a classifier that was fitted without it. */
export interface Measured {
  /** The number of the version. */
  version: number;
  /** The version that it is compared with; null if there is none. */
  previous: number | null;
  /** The share of the held-out images that are recognised. */
  accuracy: number;
  /** The same for the version before, on its own exemplars. */
  accuracy_before: number | null;
  /** The number of held-out images. */
  images: number;
  /** The classes, by name. */
  classes: ClassAccuracy[];
  /** All pairs that are mixed up, the most confused first. */
  pairs: ConfusedPair[];
  /** Whether the network was trained on some of these images, so that the result is too optimistic. */
  trained: boolean;
}

/** How full the exemplar memory is. Exemplars are the learnt images that the recogniser keeps. */
export interface Memory {
  /** The largest number of exemplars. */
  size: number;
  /** The number of exemplars that are kept. */
  used: number;
}

/** Merge a group into another one: move all its images there. */
export interface Merge {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "merge";
  /** Number of the group whose images move. */
  group: number;
  /** Number of the group that gets them. */
  into: number;
}

/** Merge a known class into another one: all its images get that label, and the next learn makes them one class. */
export interface MergeClasses {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "merge_classes";
  /** Name of the known class that ends. */
  known: string;
  /** Name of the known class that gets its images. */
  into: string;
}

/** The images of a known class were given to another one; the next learning makes them one class. */
export interface MergeClassesDetails {
  /** The name that the known class had. */
  known: string;
  /** The name that the group, the class or the images got. */
  label: string;
  /** The number of images. */
  images: number;
}

/** A group was merged into another one. */
export interface MergeDetails {
  /** The number of the group. */
  group: number;
  /** The number of the other group. */
  into: number;
}

/** Move images to a group, given by its number or by the name of a class; a new name makes a new group. */
export interface Move {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "move";
  /** Numbers of the images. They need not be under review: moving an image corrects the class it was recognised as, and one that was learnt gets the name of the group as its label. */
  items: number[];
  /** Number of the group; null if `label` is given. */
  group?: number | null;
  /** Name of the class or group; null if `group` is given. */
  label?: string | null;
  /** Whether to confirm the group, too. */
  confirm?: boolean;
}

/** Images were moved to a group, or learnt ones got its name as their label. */
export interface MoveDetails {
  /** The number of images. */
  images: number;
  /** The number of the group. */
  group: number | null;
  /** Whether the group was confirmed, too. */
  confirmed?: boolean | null;
}

/** Name a group; if a known class or another group has this name, the two are merged. */
export interface Name {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "name";
  /** Number of the group. */
  group: number;
  /** Its name: of a new class, or of a known one. Case, spaces, hyphens and underscores do not count: "blue jay" means an existing class Blue_Jay. */
  label: string;
  /** Whether to confirm the group, too. */
  confirm?: boolean;
}

/** A group was named. */
export interface NameDetails {
  /** The number of the group. */
  group: number;
  /** The name that the group, the class or the images got. */
  label: string;
  /** Whether the group was confirmed, too. */
  confirmed: boolean;
}

/** An image that looks like another one. */
export interface Neighbour {
  /** Its number. */
  id: number;
  /** How different it looks: 1 minus the cosine of the angle between both vectors. */
  distance: number;
  /** The number of its group; null if it is in none, or learnt. */
  group: number | null;
  /** Its present label, or "unknown". */
  label: string;
}

/** What to do next. */
export interface NextStep {
  /** `init`: no class has been learnt. `view`: the workspace is read-only. `adapt`: an adaptation was interrupted. `review`: groups wait for a person. `learn`: reviewed images can be learnt. `discover`: images wait to be grouped. `recognize`: no image was recognised yet. `export`: everything is done. */
  step: "init" | "view" | "adapt" | "review" | "learn" | "discover" | "recognize" | "export";
  /** How many images it is about. */
  images: number;
  /** With `review`: how many groups it is about. */
  groups: number;
}

/** An empty object. */
export interface Nothing {
}

/** The edit that was seen last: undo and redo are refused if somebody has made another one since. */
export interface On {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
}

/** Where a crop is from. */
export interface Origin {
  /** The name of the file of the whole image. */
  name: string;
  /** Width and height of the whole image in pixels. */
  size: [number, number];
  /** Left, top, width and height of the crop in pixels. */
  box: [number, number, number, number];
  /** How sure the detector is. */
  confidence: number;
  /** What the detector takes it for. */
  category: string;
}

/** The two parts that a group falls into, and whether they look like different classes. */
export interface Parts {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** The probability that the group contains two classes; at most one half if it cannot be estimated. */
  mixed: number;
  /** How many images either part has, the larger one first. */
  sizes: number[];
  /** The numbers of the most typical images of either part. */
  shown: number[][];
}

/** A version of the recogniser with its statistics. */
export interface Phase {
  /** The number of the version. */
  version: number;
  /** The phase: how many times the recogniser had learnt, this time included. */
  phase: number;
  /** When the version was made, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Whether it is the version in use. */
  in_use: boolean;
  /** How many classes it knows. */
  classes: number;
  /** How many images it learnt. */
  learnt: number;
  /** How many images of the stream it has recognised or rejected. */
  asked: number;
  /** How many of them it rejected as unknown. */
  rejected: number;
  /** The same as a share; null before the first image. */
  unknown_rate: number | null;
  /** Null if it was not measured. */
  accuracy: Accuracy | null;
  /** The share of its exemplars that it recognises when they are held out; null if not measured. */
  held_out: number | null;
}

/** A folder to begin at. */
export interface Place {
  /** What it is called. */
  name: string;
  /** Where it is. */
  path: string;
}

/** The event `presence`: who looks at which group now, yourself included. */
export interface Presence {
  /** The groups that somebody looks at. */
  groups: Looking[];
}

/** Why a request failed. */
export interface Problem {
  /** What happened and what to do, in words for a person to read. */
  detail: string;
}

/** A question about groups that nobody has named. */
export interface Question {
  /** `split`: is this group one class, or does it split here? `same`: are these groups the same class? */
  kind: "split" | "same";
  /** The question in words. */
  text: string;
  /** How many actions the answer is expected to save, less the one that it takes. */
  gain: number;
  /** The number of the group, or of both groups. */
  groups: number[];
  /** The most typical images of both parts of a group, or of both groups. */
  shown: number[][];
  /** The possible answers. */
  answers: Answer[];
}

/** The questions whose answers are expected to save more work than they take. */
export interface Questions {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** About how long it takes to answer them. */
  seconds: number;
  /** The questions, the one that saves the most work first. */
  questions: Question[];
  /** Whether a question was answered since the images were last grouped. If so, the edit `regroup` assigns the images to the groups again by the answers. */
  answered: boolean;
}

/** Why an image has been recognised as a class, or rejected. */
export interface Reasons {
  /** Its unknown score: the higher, the less it looks like any known class; null if the version in use has not recognised it. */
  score: number | null;
  /** The threshold in use now, which follows the stream: images with a higher score are rejected; null if the recogniser has none. */
  threshold: number | null;
  /** Whether the image was rejected; null if it was not recognised. */
  rejected: boolean | null;
  /** The most similar exemplars, with their classes. */
  nearest: LabelledNeighbour[];
  /** The deepest rank that is sure; null if none is, or without a taxonomy. */
  taxon: Taxon | null;
}

/** How much of a file has arrived. */
export interface Received {
  /** Where the next piece begins; the size of the file if it is complete. */
  received: number;
}

/** Images were recognised. */
export interface RecognizeDetails {
  /** The number of images. */
  images: number;
  /** How many of the images were rejected as unknown. */
  rejected: number;
  /** How many files could not be used. */
  bad: number;
}

/** A job that adds images and recognises them; `POST /images` starts it. */
export interface RecognizeJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "recognize";
  /** Null until the job is done. */
  result: RecognizeResult | null;
}

/** What the job ``recognize`` added. */
export interface RecognizeResult {
  /** How many images were added. */
  images: number;
  /** How many of them were recognised as unknown. */
  rejected: number;
  /** How many files were images that are in the workspace already. */
  duplicates: number;
  /** How many files could not be used. */
  bad: number;
  /** In how many images there was no box to cut out. */
  empty?: number;
  /** Some of them, with reasons. */
  reasons: string[];
}

/** What the recogniser says about a vector or an image. */
export interface Recognized {
  /** A known class, or "unknown"; empty if the image cannot be used. */
  label: string;
  /** The probability that the image is of no known class. */
  unknown: number;
  /** The most likely known classes, each with its probability, the most likely first. */
  top: [string, number][];
  /** The number of the image, if it was kept; null otherwise. */
  id: number | null;
  /** The numbers of the exemplars that look most like the image; empty for vectors. */
  exemplars: number[];
  /** The deepest rank that is sure; null if none is, without a taxonomy, or in the moments after a change while this is being calibrated. */
  taxon: Taxon | null;
  /** The name of the file; null for vectors. */
  name: string | null;
  /** Why the image cannot be used; null if it can. */
  reason: string | null;
}

/** What was redone. */
export interface Redone {
  /** The number of this redo, which is an edit itself. */
  edit: number;
  /** The numbers of the groups that have changed. */
  groups: number[];
  /** The edit that was redone. */
  redone: Entry;
}

/** Assign images to the unnamed groups again, by the answers to questions about them. */
export interface Regroup {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "regroup";
}

/** Images were assigned to the groups again, by the answers of a person. */
export interface RegroupDetails {
  /** The number of images. */
  images: number;
  /** How many groups were started in place of those that are not a class. */
  started: number;
}

/** What a rehearsal measured: some known classes were hidden from a short training and treated as new. HNA is the harmonic mean of the share of known images that get the right label and the share of new ones that are rejected. HCA is that of the share of known images that get the right label and the share of new ones that join the right group. */
export interface Rehearsal {
  /** HNA with the network that is in use. */
  frozen_hna: number;
  /** HCA with the network that is in use. */
  frozen_hca: number;
  /** HNA with the adapted network. */
  adapted_hna: number;
  /** HCA with the adapted network. */
  adapted_hca: number;
  /** The number of classes that were hidden. */
  hidden: number;
  /** Whether the adapted network is better by more than chance. */
  helps: boolean;
}

/** The limit on the rejection of known images, and the other limits that could be chosen. */
export interface Rejection {
  /** The largest share of known images to reject; null if the threshold follows the stream. */
  max_known_rejected: number | null;
  /** The threshold in use; null if the recogniser's preset has none. */
  threshold: Threshold | null;
  /** How many images of the stream were seen so far. */
  seen: number;
  /** Empty if the recogniser's preset has no threshold. */
  choices: RejectionChoice[];
}

/** A limit on the rejection of known images, and its effect on what was seen so far. */
export interface RejectionChoice {
  /** The largest share of known images to reject; null lets the threshold follow the stream. */
  max_known_rejected: number | null;
  /** The share of held-out known images that it rejects. */
  rejected_known: number;
  /** How many images of the stream it would have rejected. */
  rejected_stream: number;
  /** The same as a share of the stream; null before the first image. */
  share: number | null;
}

/** The limit on rejection was set; None lets the threshold follow the stream. */
export interface RejectionDetails {
  /** The largest share of known images to reject; null lets the threshold follow the stream. */
  max_known_rejected: number | null;
}

/** The limit on the rejection of known images. */
export interface RejectionLimit {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The largest share of known images to reject; null lets the threshold follow the stream. */
  max_known_rejected: number | null;
}

/** Correct the label of images that the recogniser has learnt; the next learn takes it. */
export interface Relabel {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "relabel";
  /** Numbers of the images. */
  items: number[];
  /** The class that they show: a known one or a new one. */
  label: string;
}

/** Remove images, so that they are neither learnt nor grouped again; the next learn forgets those that were learnt. */
export interface Remove {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "remove";
  /** Numbers of the images. */
  items: number[];
}

/** Images were removed. */
export interface RemoveDetails {
  /** The number of images. */
  images: number;
}

/** Rename a known class, in all versions of the recogniser and wherever its name is shown. */
export interface RenameClass {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "rename_class";
  /** Name of the known class. */
  known: string;
  /** Its new name, which no other class or group may have; use ``merge_classes`` for one class under two names. */
  label: string;
}

/** A known class was renamed. */
export interface RenameClassDetails {
  /** The name that the known class had. */
  known: string;
  /** The name that the group, the class or the images got. */
  label: string;
}

/** Changes of folders were read back: how many groups were named, and images moved and removed. */
export interface ReviewDetails {
  /** How many groups were named. */
  named: number;
  /** How many images were moved. */
  moved: number;
  /** How many images were removed. */
  removed: number;
}

/** A version of the recogniser to switch to. */
export interface Rollback {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The number of the version. */
  version: number;
}

/** Another version was put into use. */
export interface RollbackDetails {
  /** The number of the version of the recogniser. */
  version: number;
}

/** Move images to a group of their own. */
export interface Separate {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "separate";
  /** Numbers of the images. */
  items: number[];
  /** Name of the new group; without one it stays unnamed. */
  label?: string | null;
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

/** The images of a group, those first that look more like one of them than like the whole group. */
export interface Similar {
  /** The numbers of the image itself and then of the others; of a stack of near copies only one. */
  items: number[];
  /** How many of them look more like the image than like the group, itself included. */
  number: number;
}

/** Split a group into n groups by clustering its images. */
export interface Split {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "split";
  /** Number of the group, which keeps the largest part. */
  group: number;
  /** Number of parts, from 2 to the number of its images. */
  n: number;
}

/** A group was split; ``parts`` are the resulting groups. */
export interface SplitDetails {
  /** The number of the group. */
  group: number;
  /** The numbers of the groups that it is now. */
  parts: number[];
}

/** The state of the workspace in numbers. */
export interface Status {
  /** The name of the workspace's folder. */
  name: string;
  /** The network that turns each image into a vector (an embedding). */
  embedder: string;
  /** The version of the recogniser in use; null before the first. */
  version: Version | null;
  /** How many versions there are. */
  versions: number;
  /** How many images there are by where their label comes from: `learnt`, `reviewed`, `returned`, `grouped`, `removed`, `recognized`, `rejected` or `waiting`. */
  counts: Record<string, number>;
  /** What the last discovery found; empty if there was none since the last learning. */
  discovered: DiscoverDetails | Nothing;
  /** How many files could not be used. */
  failures: number;
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** How many groups are under review. */
  groups: number;
  /** How many images are in groups of new classes that nobody has confirmed. */
  to_review: number;
  /** How many images the job `learn` would learn. */
  to_learn: number;
  /** How full the exemplar memory is; null if that is not known. */
  memory: Memory | null;
  /** What undo would undo; null if there is nothing. */
  can_undo: Act | null;
  /** What redo would redo; null if there is nothing. */
  can_redo: Act | null;
  /** The jobs that are waiting or running. */
  jobs: Job[];
  /** What to do next, jobs aside. */
  next: NextStep;
}

/** A known class or a group that images may belong to. */
export interface Suggestion {
  /** Its name, or a provisional one. */
  label: string;
  /** The number of the group; null for a class without images under review. */
  group: number | null;
  /** Whether it is a known class. */
  known: boolean;
  /** The cosine between its centre and that of the images, as the recogniser sees. */
  likeness: number;
  /** The number of a typical image; null if there is none. */
  image: number | null;
}

/** The known classes and groups that images may belong to. */
export interface Suggestions {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** All of them, the most likely first. */
  homes: Suggestion[];
}

/** A learnt image whose label may be wrong. */
export interface Suspect {
  /** The number of the image. */
  item: number;
  /** Its label. */
  label: string;
  /** The class that it is more likely of. */
  suggested: string;
  /** The probability of its label, by a classifier that was fitted without the image. */
  own: number;
  /** The probability of the suggested class. */
  rival: number;
  /** A near copy of it with another label; null if there is none. */
  copy_of: number | null;
  /** The images of the class of its label that look most like it. */
  like_label: number[];
  /** The images of the suggested class that look most like it. */
  like_suggested: number[];
}

/** Learnt images whose labels may be wrong. Images that a person has judged are left out. */
export interface Suspects {
  /** The last edit that this shows. Send it as `on` with what you do next. */
  edit: number;
  /** Whether the version in use was measured; if not, the job `measure` does it. */
  measured: boolean;
  /** How many such images there are. */
  total: number;
  /** The most doubtful first. */
  suspects: Suspect[];
}

/** A class, and images of it. */
export interface TaughtClass {
  /** The name of the class, a known or a new one. */
  label: string;
  /** The numbers of the images. */
  items: number[];
}

/** A class, or a group of classes in the taxonomy. */
export interface Taxon {
  /** Its name. */
  name: string;
  /** Its rank, such as `genus`. */
  rank: string;
  /** The names from the broadest taxon to this one. */
  path: string[];
  /** How likely it is; 1 if a person gave the label. */
  probability: number;
  /** The largest share of images with a wrong name, as it was chosen. */
  error: number;
}

/** The taxonomy was set. */
export interface TaxonomyDetails {
  /** How many classes there are, or their names. */
  classes: number;
  /** The ranks above the classes, the broadest first. */
  ranks: string[];
  /** The largest share of images that may get a wrong name. */
  error: number;
}

/** The taxonomy to set, as a CSV file. */
export interface TaxonomyFile {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** CSV whose first line names the ranks, such as `family,genus,species`, with a line for each class. */
  table: string;
}

/** The ranks above the classes. */
export interface TaxonomyTable {
  /** The ranks, the broadest first, without that of the classes. */
  ranks: string[];
  /** The rank of the classes, such as `species`. */
  class_rank: string;
  /** The taxon of each class at each rank; empty where it has none. */
  lineages: Record<string, string[]>;
  /** The largest share of images with a wrong name. */
  error: number;
}

/** The taxonomy to set. */
export interface TaxonomyWanted {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The ranks, the broadest first, without that of the classes. */
  ranks: string[];
  /** The rank of the classes, such as `species`. */
  class_rank: string;
  /** The taxon of each class at each rank; empty where it has none. */
  lineages: Record<string, string[]>;
  /** The largest share of images with a wrong name. */
  error: number;
}

/** Give labels to images, which then are examples of known or new classes; the job ``learn`` takes them. */
export interface Teach {
  /** What the job is to do. */
  verb: "teach";
  /** The classes with their images; no image may be listed with two classes. */
  classes: TaughtClass[];
  /** Whether images that a person has given another label get the new one. */
  replace?: boolean;
}

/** An image to which a person has given another label already, and which kept it. */
export interface TeachConflict {
  /** The number of the image. */
  item: number;
  /** Its label; empty if a person removed it from the review. */
  present: string;
  /** The label that it was to get. */
  given: string;
}

/** Labelled images were added. */
export interface TeachDetails {
  /** The number of images. */
  images: number;
  /** How many classes there are, or their names. */
  classes: string[];
  /** How many images had another label before; null if none. */
  replaced?: number | null;
  /** How many files could not be used. */
  bad?: number | null;
}

/** Labelled images or vectors to teach. */
export interface TeachFiles {
  /** A folder of this machine. */
  folder?: string | null;
  /** Or an upload that is complete. */
  upload?: string | null;
  /** The list of files with labels (CSV with the columns file and label, JSON lines, COCO) or the file of labelled vectors (.npz, .parquet, or state.json of a dataset on disk), relative to the folder or the upload, or a path of this machine; null if each class has a folder. */
  table?: string | null;
  /** Frames per second that are taken of videos. */
  fps?: number;
  /** Whether images that a person has given another label get the new one. */
  replace?: boolean;
}

/** A job that gives labels to images. */
export interface TeachJob {
  /** The number of the job. */
  id: number;
  /** Whether the job waits for its turn, is running, or how it ended. */
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** What it is doing, in words. */
  stage: string;
  /** How many steps of this stage are done. */
  done: number;
  /** How many steps the stage has; 0 if that is not known. */
  total: number;
  /** Estimated seconds that the job will still run; null if unknown. */
  seconds_left: number | null;
  /** Why it failed or was cancelled; null otherwise. */
  error: string | null;
  /** When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Who started it. */
  who: string;
  /** What the job does. */
  verb: "teach";
  /** Null until the job is done. */
  result: TeachResult | null;
}

/** What the job ``teach`` did. */
export interface TeachResult {
  /** How many images have got a label. */
  images: number;
  /** How many of them there are of each class. */
  classes: Record<string, number>;
  /** How many images had their label before. */
  already: number;
  /** How many images, of those with a new label, had another label before. */
  replaced: number;
  /** Images with another label, which they kept; at most 1,000. */
  conflicts: TeachConflict[];
  /** How many such images there are. */
  conflicting: number;
  /** How many files could not be used. */
  bad?: number;
  /** Some of them, with reasons. */
  reasons?: string[];
}

/** The threshold of open-set rejection: an image with a higher score is rejected as unknown. */
export interface Threshold {
  /** The threshold. */
  value: number;
  /** What it was estimated from: `bound` (a limit on rejected known images), `labelled` (labelled images) or `stream` (the images that were added). */
  source: string;
  /** The share of held-out known images that it rejects. */
  known_rejected: number;
  /** The estimated share of the stream that is of known classes. */
  known_share?: number | null;
  /** The HNA to expect on the stream: the harmonic mean of the share of known images that get the right label and the share of new ones that are rejected. */
  hna?: number | null;
}

/** Withdraw the confirmation of a group. */
export interface Unconfirm {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "unconfirm";
  /** Number of the group. */
  group: number;
}

/** An edit was undone or redone: its number and verb. */
export interface UndoDetails {
  /** The number of the edit that was undone or redone. */
  edit: number;
  /** The verb of the edit that was undone or redone. */
  verb: string;
}

/** What was undone. */
export interface Undone {
  /** The number of this undo, which is an edit itself. */
  edit: number;
  /** The numbers of the groups that have changed. */
  groups: number[];
  /** The edit that was undone. */
  undone: Entry;
}

/** Open stacks of near copies, such as the images of a burst, so that each image is moved by itself. */
export interface Unstack {
  /** The last edit that you have seen, from the field `edit` of an answer. The request is refused if someone has changed since then what it is about. */
  on: number;
  /** The verb. */
  act: "unstack";
  /** Numbers of images; one of each stack is enough. */
  items: number[];
}

/** Stacks of images were opened. */
export interface UnstackDetails {
  /** The number of images. */
  images: number;
}

/** An upload that was begun. */
export interface Upload {
  /** Its name, which the other requests about it need. */
  id: string;
  /** The largest number of bytes in one piece. */
  piece: number;
}

/** An image that was uploaded. */
export interface Uploaded {
  /** Its number; null if it cannot be used. */
  id: number | null;
  /** The name of the file. */
  name: string;
  /** Why it cannot be used; null if it can. */
  reason: string | null;
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

/** A version of the recogniser. Learning and adapting each make a new one, and all are kept. */
export interface Version {
  /** Its number. */
  id: number;
  /** The version that it was made from; null for the first. */
  parent: number | null;
  /** The phase: how many times the recogniser had learnt, this time included. */
  phase: number;
  /** The names of the classes that it knows. */
  classes: string[];
  /** When, in UTC, as in 2026-05-01T06:30:12+00:00. */
  at: string;
  /** Whether it is the version in use. */
  in_use: boolean;
  /** Null if the recogniser's preset has no threshold. */
  threshold: Threshold | null;
  /** What was measured when it was made; null if nothing was. */
  report: LearningReport | null;
}

/** Which frame of a video an image is. */
export interface VideoFrame {
  /** The name of the file of the video. */
  name: string;
  /** The video, where it was when the frame was taken. */
  path: string;
  /** The time of the frame, from the start of the video. */
  seconds: number;
}

/** The folder whose new images are recognised as they appear. */
export interface Watch {
  /** Whether you may name folders of the server's machine. */
  local: boolean;
  /** The folder that is watched; null if there is none. */
  folder: string | null;
  /** Frames per second that are taken of videos; null if no folder is watched. */
  fps: number | null;
  /** How many images were added since the watch began. */
  images: number;
  /** Why nothing can be added at the moment; empty if it can. */
  problem: string;
  /** Whether this is one of several projects, which are listed at `../../`. */
  home: boolean;
}

/** A folder to watch. */
export interface WatchFolder {
  /** A folder of the server's machine. */
  folder: string;
  /** Frames per second that are taken of videos. */
  fps?: number;
}

/** What each address of the API takes and gives, by method and path. */
export interface Operations {
  /** Recognise known classes, and reject what is unknown: in images, or in feature vectors (JSON or numpy's format). */
  "POST /recognize": {
    query?: { keep?: boolean; top?: number };
    body: { /** One list of numbers per image, all of the same length. */ vectors: number[][]; } | FormData;
    answer: Recognized[];
  };
  /** Return the state of the workspace in numbers: versions, images, groups, jobs, and what can be undone. */
  "GET /status": {
    answer: Status;
  };
  /** Return all versions of the recogniser, the oldest first. */
  "GET /versions": {
    answer: Version[];
  };
  /** Return how many images each version of the recogniser learnt and rejected, and how accurate it is. */
  "GET /phases": {
    answer: Phase[];
  };
  /** Return the known classes with their exemplars. */
  "GET /classes": {
    answer: Class[];
  };
  /** Return the limit on the rejection of known images, and what other limits would have rejected so far. */
  "GET /rejection": {
    answer: Rejection;
  };
  /** Reject at most this share of known images from now on. Images that were already recognised keep their labels. */
  "PUT /rejection": {
    body: RejectionLimit;
    answer: EditMade;
  };
  /** Return the ranks above the classes, and how sure a rank must be. */
  "GET /taxonomy": {
    answer: TaxonomyTable;
  };
  /** Set the ranks above the classes, and the largest share of images that may get a wrong name. */
  "PUT /taxonomy": {
    body: TaxonomyWanted;
    answer: EditMade;
  };
  /** Return who did what and when, the latest first. */
  "GET /history": {
    query?: { limit?: number; before?: number | null };
    answer: Entry[];
  };
  /** Return how often each two people gave the same images the same name. They see each other's names. */
  "GET /agreement": {
    answer: Agreement[];
  };
  /** Return how many classes the last discovery found, with the score of each number that it tried. */
  "GET /k": {
    answer: ClassNumber;
  };
  /** Return how many images of each class the job `learn` would learn. */
  "GET /learnable": {
    answer: Learnable;
  };
  /** Return the files that could not be used. */
  "GET /failures": {
    answer: Failure[];
  };
  /** Switch to another version of the recogniser. Images that it has not learnt go back to review. */
  "POST /rollback": {
    body: Rollback;
    answer: EditMade;
  };
  /** Set the ranks above the classes as `opengcd taxonomy` does; the share of wrong names stays as it is. */
  "PUT /taxonomy/table": {
    body: TaxonomyFile;
    answer: EditMade;
  };
  /** Return all groups under review, in the order of the review. */
  "GET /groups": {
    answer: Groups;
  };
  /** Return images of a group, the most typical or the least typical first. */
  "GET /groups/{id}/items": {
    path: { id: number };
    query?: { offset?: number; limit?: number; order?: "typical" | "odd"; stacked?: boolean };
    answer: ItemPage;
  };
  /** Return the comments on a group, the oldest first. */
  "GET /groups/{id}/comments": {
    path: { id: number };
    answer: GroupComment[];
  };
  /** Return the names of all people who have a token, are in the history, or are to review a group. */
  "GET /people": {
    answer: string[];
  };
  /** Return the two parts that a group falls into, and how likely they are different classes. */
  "GET /groups/{id}/parts": {
    path: { id: number };
    answer: Parts;
  };
  /** Return how many images of a group that was returned to a known class surely belong to each taxon of the class. */
  "GET /groups/{id}/taxa": {
    path: { id: number };
    answer: GroupTaxa;
  };
  /** Return the questions that save the most work. Each answer has an edit: to give the answer, make that edit. */
  "GET /questions": {
    query?: { limit?: number };
    answer: Questions;
  };
  /** Return all known classes and groups, the most likely ones for some images first. */
  "GET /suggestions": {
    query: { items: number[] };
    answer: Suggestions;
  };
  /** Return the details of an image: its prediction, its group, its files and where its label comes from. */
  "GET /items/{id}": {
    path: { id: number };
    answer: ItemDetails;
  };
  /** Return why an image was recognised or rejected: its score beside the threshold, and the nearest exemplars. */
  "GET /items/{id}/reasons": {
    path: { id: number };
    query?: { limit?: number };
    answer: Reasons;
  };
  /** Return what the camera wrote down about an image: when and where it was taken, and how. */
  "GET /items/{id}/camera": {
    path: { id: number };
    answer: Camera;
  };
  /** Return a small picture of an image; for a vector without a picture, a card with its name. */
  "GET /items/{id}/thumbnail": {
    path: { id: number };
    answer: null;
  };
  /** Return the image itself: as its file holds it, or as a JPEG if browsers cannot show the format of the file. */
  "GET /items/{id}/image": {
    path: { id: number };
    answer: null;
  };
  /** Return the image that a crop was cut out of, as browsers can show it. */
  "GET /items/{id}/origin": {
    path: { id: number };
    answer: null;
  };
  /** Return the images that look most like one, whatever their labels come from. */
  "GET /items/{id}/neighbours": {
    path: { id: number };
    query?: { limit?: number };
    answer: Neighbour[];
  };
  /** Return the images of an image's group, and how many look more like it than like the whole group. */
  "GET /items/{id}/similar": {
    path: { id: number };
    answer: Similar;
  };
  /** Undo the last edit that is not undone. It is refused with 409 if someone has made an edit since `on`. */
  "POST /undo": {
    body: On;
    answer: Undone;
  };
  /** Redo the edit that was undone last. It is refused with 409 if someone has made an edit since `on`. */
  "POST /redo": {
    body: On;
    answer: Redone;
  };
  /** Return the images that all the given filters let pass, page by page. */
  "GET /images": {
    query?: { after?: string | null; limit?: number; label?: string | null; group?: number | null; source?: ("learnt" | "reviewed" | "returned" | "grouped" | "removed" | "recognized" | "rejected" | "waiting")[] | null; unknown_min?: number | null; unknown_max?: number | null; doubt_min?: number | null; doubt_max?: number | null; since?: string | null; until?: string | null; folder?: string | null; who?: string | null; name?: string | null; sort?: "added" | "name" | "date" | "label" | "doubt" | "unknown"; descending?: boolean };
    answer: ImagePage;
  };
  /** Recognise the images and videos of an upload or a folder, in a job. What the workspace has is not added again. */
  "POST /images": {
    body: AddImages;
    answer: Job;
  };
  /** Return how many images the filters let pass, and the cursors by which to go to any page directly. */
  "GET /images/starts": {
    query?: { every?: number; label?: string | null; group?: number | null; source?: ("learnt" | "reviewed" | "returned" | "grouped" | "removed" | "recognized" | "rejected" | "waiting")[] | null; unknown_min?: number | null; unknown_max?: number | null; doubt_min?: number | null; doubt_max?: number | null; since?: string | null; until?: string | null; folder?: string | null; who?: string | null; name?: string | null; sort?: "added" | "name" | "date" | "label" | "doubt" | "unknown"; descending?: boolean };
    answer: ImageStarts;
  };
  /** Return the deepest rank that is sure of each image; those that are not there are left out. */
  "GET /images/taxa": {
    query: { items: number[] };
    answer: ImageTaxa;
  };
  /** Return the labels, folders and people that images can be filtered by. */
  "GET /images/choices": {
    answer: ImageChoices;
  };
  /** Return all images under review as points of a plane: similar images lie close together. */
  "GET /map": {
    answer: Map;
  };
  /** Return what the job `adapt` would use, whether it is possible, and how long it would take here. */
  "GET /adaptation": {
    answer: AdaptationPlan;
  };
  /** Return the adapted network in use as an ONNX file, which `opengcd init --embedder` takes. */
  "GET /adaptation/onnx": {
    answer: null;
  };
  /** Store images without recognising them. The job `teach` then gives them their labels. */
  "POST /taught-images": {
    body: FormData;
    answer: Uploaded[];
  };
  /** Return the classes of labelled images or vectors, before they are taught. */
  "POST /known": {
    body: LabelledFiles;
    answer: KnownPreview;
  };
  /** Teach the labelled images or vectors of an upload or a folder, in the job `teach`; the job `learn` takes them. */
  "POST /taught-files": {
    body: TeachFiles;
    answer: Job;
  };
  /** Return how well a version recognises its exemplars when they are held out, and which it mixes up. */
  "GET /held-out": {
    query?: { version?: number | null };
    answer: HeldOut;
  };
  /** Return the held-out images of one class that a version takes for another class, or for their own. */
  "GET /held-out/items": {
    query: { label: string; predicted: string; version?: number | null };
    answer: ConfusedImages;
  };
  /** Return learnt images whose labels may be wrong. The edits `keep_label`, `relabel` and `discard` judge them. */
  "GET /suspects": {
    query?: { limit?: number; offset?: number };
    answer: Suspects;
  };
  /** Return the formats of exports. Those that need a table of deployments are for `POST /export`. */
  "GET /export/formats": {
    answer: ExportFormat[];
  };
  /** Return the label of every image, and where it comes from. */
  "GET /export": {
    query?: { format?: "csv" | "json" | "coco" | "crops" | "folders" | "yolo" | "imagefolder" | "fiftyone" | "darwin-core" | "inaturalist"; images?: "all" | "reviewed" | "new" };
    answer: any;
  };
  /** Return what `GET /export` does, with a table of deployments: where and when each camera was. */
  "POST /export": {
    body: ExportWanted;
    answer: any;
  };
  /** Return the last hundred jobs, the latest first. */
  "GET /jobs": {
    answer: Job[];
  };
  /** Add a job; `verb` says what it is to do. Jobs run one after another, in the order in which they were added. */
  "POST /jobs": {
    body: Discover | Learn | Teach | Measure | Check | Adapt;
    answer: Job;
  };
  /** Return a job: how far it is, or how it ended. */
  "GET /jobs/{id}": {
    path: { id: number };
    answer: Job;
  };
  /** Cancel a job. If it is running, it stops at its next step and changes nothing; a job that is done stays done. */
  "POST /jobs/{id}/cancel": {
    path: { id: number };
    answer: Job;
  };
  /** Tell the others which group you look at. It counts for half a minute, so repeat it while you look. */
  "PUT /presence": {
    body: Look;
    answer: Presence;
  };
  /** Send what happens from now on, as server-sent events. */
  "GET /events": {
    query?: { page?: string | null };
    answer: null;
  };
  /** Make one change to groups or images; `act` says which. */
  "POST /edits": {
    body: Name | Confirm | Unconfirm | Move | Separate | Remove | Unstack | Merge | Split | Keep | Compare | Divide | Regroup | RenameClass | MergeClasses | Relabel | KeepLabel | Discard | Assign | Comment;
    answer: Edited;
  };
  /** Return which folder of the server's machine is watched, and whether others may be named. */
  "GET /watch": {
    answer: Watch;
  };
  /** Recognise images as they appear in a folder of the server's machine, until that is stopped. */
  "PUT /watch": {
    body: WatchFolder;
    answer: Watch;
  };
  /** Stop watching the folder. What was recognised stays. */
  "DELETE /watch": {
    answer: Watch;
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
  /** Return what is in a folder of the server's machine, for a person at that machine. */
  "GET /folders": {
    query?: { path?: string | null };
    answer: FolderListing;
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

/** What the events of `GET /events` hold, by name. */
export interface Events {
  edit: EditEvent;
  job: Job;
  presence: Presence;
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
  taxonomy: TaxonomyDetails;
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
  rename_class: RenameClassDetails;
  merge_classes: MergeClassesDetails;
  relabel: CorrectDetails;
  keep_label: CorrectDetails;
  discard: CorrectDetails;
  assign: AssignDetails;
  comment: CommentDetails;
  teach: TeachDetails;
  undo: UndoDetails;
  redo: UndoDetails;
}
