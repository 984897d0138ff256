import SqliteDatabase from 'better-sqlite3'
import { answerQuestions } from '../threads/answer.ts'

/** What was committed while the pages before it were copied is copied as well; after so many rounds the next time is soon enough. */
const maxRounds = 4

/** Copies what the write-ahead log of an SQLite file holds into the file, and tells whether that was all of it. */
function checkpoint(path: string): boolean {
  const native = new SqliteDatabase(path, { fileMustExist: true, timeout: 0 })
  try {
    const run = native.prepare<[], { busy: number; log: number; checkpointed: number }>('pragma wal_checkpoint(passive)')
    for (let round = 0; round < maxRounds; round++) {
      const state = run.get()
      if (!state || state.busy) return false
      if (state.log === state.checkpointed) return true
    }
    return false
  } finally {
    native.close()
  }
}

answerQuestions(checkpoint)
