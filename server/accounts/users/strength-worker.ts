import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'
import { answerQuestions } from '../../platform/threads/worker.ts'

/** A password, and words that make it easy to guess for anyone who knows the user and the server. */
export type Question = { password: string; known: string[] }
export type Estimate = {
  /** Whether the password is among the 3,000 most common ones. */
  common: boolean
  /** Strength from 0 (guessed immediately) to 4 (very hard to guess). */
  score: number
  /** Problems of the password and suggestions, as sentences; empty for a good password. */
  advice: string
}

// Runs in a separate thread: loading the dictionaries takes half a second, and a crafted password takes 200 ms to check.
const estimator = new ZxcvbnFactory({
  dictionary: { ...common, ...english },
  graphs: adjacencyGraphs,
  translations,
  maxLength: 72,
  // With the default of 100 substitutions, a crafted password takes two seconds.
  l33tMaxSubstitutions: 10,
})
const mostCommon = new Set(common['passwords-common'].slice(0, 3000).map(String))

function estimate({ password, known }: Question): Estimate {
  const { score, feedback } = estimator.check(password, known)
  const advice = [feedback.warning, ...feedback.suggestions].filter(Boolean).join(' ')
  return { common: mostCommon.has(password.toLowerCase()), score, advice }
}

answerQuestions(estimate)
