import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'

export type ThreadBucket = { env: Record<string, string>; keys: () => Promise<string[]> }

/** Runs in the thread: sends the settings of a new bucket, and its keys whenever it is asked. */
const program = `
  const { parentPort } = require('node:worker_threads')
  void import(${JSON.stringify(new URL('./s3-service.ts', import.meta.url).href)}).then(async ({ s3Bucket }) => {
    const bucket = await s3Bucket()
    parentPort.on('message', async () => parentPort.postMessage(await bucket.keys()))
    parentPort.postMessage(bucket.env)
  })`

/** Creates a bucket in a thread of its own, so that it answers in time while the test receives much data. It ends with the test. */
export async function bucketInThread(): Promise<ThreadBucket> {
  const worker = new Worker(program, { eval: true })
  onTestFinished(async () => void (await worker.terminate()))
  const [env] = (await once(worker, 'message')) as [Record<string, string>]
  const keys = async () => {
    worker.postMessage('keys', [])
    const [found] = (await once(worker, 'message')) as [string[]]
    return found
  }
  return { env, keys }
}
