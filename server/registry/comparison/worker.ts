import { answerQuestions } from '../../platform/threads/worker.ts'
import { type DiffTask, diffTexts } from './diff-texts.ts'

answerQuestions((task: DiffTask) => diffTexts(task))
