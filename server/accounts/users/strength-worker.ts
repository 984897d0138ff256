import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'
import { answerQuestions } from '../../platform/threads/worker.ts'

/** A password to check, and words about the user and the server that an attacker would try. */
export type Question = { password: string; known: string[] }

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

function estimate({ password, known }: Question) {
  const { score, feedback } = estimator.check(password, known)
  const advice = [feedback.warning, ...feedback.suggestions].filter(Boolean).join(' ')
  return { common: mostCommon.has(password.toLowerCase()), score, advice }
}

answerQuestions(estimate)
