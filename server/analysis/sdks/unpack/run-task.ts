import { Worker } from 'node:worker_threads'
import type { z } from 'zod'
import { UnpackRejected } from './folder.ts'
import type { Task } from './unpack.ts'
import type { Message } from './worker.ts'

type Options = { signal?: AbortSignal | undefined; onProgress?: (done: number, total: number) => void }

/** Heap limit of the worker thread; decompressors allocate outside the heap. A genuine SDK archive stays below the limit. */
const memory = { maxOldGenerationSizeMb: 256 }

/** Hashes, reads or unpacks an archive in a worker thread. @throws UnpackRejected for an invalid archive or a full disk; `signal.reason` */
export async function runTask<Answer>(task: Task, answer: z.ZodType<Answer>, { signal, onProgress }: Options = {}): Promise<Answer> {
  signal?.throwIfAborted()
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: task, resourceLimits: memory })
  const ended = Promise.withResolvers<unknown>()
  const abort = () => ended.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  worker.on('message', (message: Message) => {
    if ('progress' in message) onProgress?.(message.progress.done, message.progress.total)
    else if ('result' in message) ended.resolve(message.result)
    else ended.reject(errorOf(message.failure))
  })
  worker.once('error', ended.reject)
  worker.once('exit', () => ended.reject(new Error('The unpacking thread ended without a result.')))
  try {
    return answer.parse(await ended.promise)
  } finally {
    signal?.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

function errorOf({ message, isRejection, code }: { message: string; isRejection: boolean; code: string | null }): Error {
  return isRejection ? new UnpackRejected(message) : Object.assign(new Error(message), code && { code })
}
