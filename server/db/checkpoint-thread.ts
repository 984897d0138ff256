import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'
import { answerQuestions } from '../threads/answer.ts'

/** What was committed while the pages before it were copied is copied as well; after so many rounds the next time is soon enough. */
const maxRounds = 4

/** Copies what an SQLite file's write-ahead log holds into the file, and tells whether that was all of it. */
function checkpoint(question: unknown): boolean {
  const native = new SqliteDatabase(z.string().parse(question), { fileMustExist: true, timeout: 0 })
  try {
    for (let round = 0; round < maxRounds; round++) {
      const [state] = found.parse(native.pragma('wal_checkpoint(passive)'))
      if (state.busy || state.log === state.checkpointed) return !state.busy
    }
    return false
  } finally {
    native.close()
  }
}

const found = z.tuple([z.object({ busy: z.int(), log: z.int(), checkpointed: z.int() })])

answerQuestions(checkpoint)
