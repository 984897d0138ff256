import SqliteDatabase from 'better-sqlite3'
import { answerQuestions } from '../../threads/answer.ts'

/** Copies what the write-ahead log of an SQLite file holds into the file, and tells how many pages it has. What is committed meanwhile stays. */
function checkpoint(path: string): number {
  const native = new SqliteDatabase(path, { fileMustExist: true, timeout: 0 })
  try {
    return native.prepare<[], { log: number }>('pragma wal_checkpoint(passive)').get()?.log ?? 0
  } finally {
    native.close()
  }
}

answerQuestions(checkpoint)
