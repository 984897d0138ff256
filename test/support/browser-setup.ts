import { browserBinary } from './browser-binary.ts'

/** Vitest global setup: unpacks the browser before workers start it concurrently. */
export default async function setup() {
  await browserBinary()
}
