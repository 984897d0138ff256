import { browserBinary } from './browser-binary.ts'

/** Vitest's global set-up: unpacks the browser before several workers want to start it. */
export default async function setup() {
  await browserBinary()
}
