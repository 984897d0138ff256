import { answerQuestions } from '../../../platform/threads/worker.ts'
import { unpackArchive } from './unpack.ts'

// Runs in a thread, because inflating and hashing a large archive would delay requests.
answerQuestions(unpackArchive)
