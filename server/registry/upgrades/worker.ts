import { answerQuestions } from '../../platform/threads/worker.ts'
import { readLockFile } from './lock-file.ts'

// Runs in a thread, because parsing a large YAML text would delay requests.
answerQuestions((text: string) => readLockFile(text))
