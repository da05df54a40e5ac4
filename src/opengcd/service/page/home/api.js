/** The HTTP interface of the home page; sessions and uploads are in `../api.js` and `../uploading.js`. */

import { request } from "../api.js";

/** @import {AddProject, CheckBackbone, KnownImages, NewProject, Operations} from "./types.d.ts" */

/**
 * @template {keyof Operations} K
 * @param {K} operation
 * @param {Record<string, any>} [given]
 * @returns {Promise<Operations[K]["answer"]>}
 */
const call = (operation, given) => request(operation, given);

export const home = {
  projects: () => call("GET /home"),
  /** @param {AddProject} body */
  add: (body) => call("POST /home", { body }),
  /** @param {string} key */
  forget: (key) => call("DELETE /home/{key}", { path: { key } }),
  backbones: () => call("GET /backbones"),
  /** @param {CheckBackbone} body @param {AbortSignal} [signal] */
  check: (body, signal) => call("POST /backbones/check", { body, signal }),
  /** @param {AbortSignal} [signal] */
  checking: (signal) => call("GET /backbones/check", { signal }),
  cancelCheck: () => call("POST /backbones/check/cancel"),
  /** @param {KnownImages} body */
  known: (body) => call("POST /known", { body }),
  creation: () => call("GET /creation"),
  /** @param {NewProject} body */
  create: (body) => call("POST /creation", { body }),
  cancel: () => call("POST /creation/cancel"),
  close: () => call("DELETE /creation"),
};

/** The address of a project. @param {string} key */
export const addressOf = (key) => `projects/${encodeURIComponent(key)}/`;
