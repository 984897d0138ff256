import { answerQuestions } from '../../../platform/threads/worker.ts'
import { sanitizeSvg } from './sanitize.ts'

answerQuestions(sanitizeSvg)
