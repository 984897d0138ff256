import SqliteDatabase from 'better-sqlite3'
import { answerQuestions } from '../../threads/worker.ts'

/** Runs a passive checkpoint and returns the number of pages in the write-ahead log. Pages committed during the checkpoint stay in the log. */
function checkpoint(path: string): number {
  const native = new SqliteDatabase(path, { fileMustExist: true, timeout: 0 })
  try {
    return native.prepare<[], { log: number }>('pragma wal_checkpoint(passive)').get()?.log ?? 0
  } finally {
    native.close()
  }
}

answerQuestions(checkpoint)
