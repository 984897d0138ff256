import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'
import { answerQuestions } from '../threads/answer.ts'

/** A password, and the words that are easy to guess for whoever knows its owner and this server. */
export type Question = { password: string; known: string[] }
export type Estimate = {
  /** Whether it is among the 3,000 most common ones. */
  common: boolean
  /** From 0, guessed at once, to 4, out of reach. */
  score: number
  /** What is wrong and what to do, in sentences; empty when nothing is. */
  advice: string
}

// A thread of its own: the dictionaries take half a second to load, and a password made to be slow takes a fifth to judge.
const estimator = new ZxcvbnFactory({
  dictionary: { ...common, ...english },
  graphs: adjacencyGraphs,
  translations,
  maxLength: 72,
  // With the hundred that are tried by default, a password made for it takes two seconds.
  l33tMaxSubstitutions: 10,
})
const mostCommon = new Set(common['passwords-common'].slice(0, 3000).map(String))

function estimate({ password, known }: Question): Estimate {
  const { score, feedback } = estimator.check(password, known)
  const advice = [feedback.warning, ...feedback.suggestions].filter(Boolean).join(' ')
  return { common: mostCommon.has(password.toLowerCase()), score, advice }
}

answerQuestions(estimate)
