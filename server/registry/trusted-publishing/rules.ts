import { matchesPattern } from '../../platform/pub/package-name.ts'
import type { IssuerPreset } from './entity.ts'
import { presetClaims } from './preset-claims.ts'
import { type Claims, claimText, describeJob, type JobFacts } from './presets.ts'
import { shown } from '../../platform/outbound/texts.ts'

/** A rule as it is compared with a job. */
export type Rule = {
  id: string
  repository: string | null
  workflow: string | null
  environment: string | null
  events: readonly string[]
  claims: Readonly<Record<string, string>>
  tagPattern: string | null
  isReadOnly: boolean
  lockedRepositoryId: string | null
  lockedOwnerId: string | null
  publisherId: string | null
}

/** A job with a verified token. */
export type Job = { preset: IssuerPreset; issuerName: string; claims: Claims; facts: JobFacts }

export const jobOf = (preset: IssuerPreset, issuerName: string, claims: Claims): Job => ({
  preset,
  issuerName,
  claims,
  facts: describeJob(preset, claims),
})

/** Why a rule does not allow something. `rank` is higher for a rule that is closer to allowing it. */
export type Problem = { ruleId: string; rank: number; message: string }

type Subject = {
  /** What the rule would allow, such as `acme_ui can be published`. */
  what: string
  published: { name: string; version: string } | null
}

type Check = (rule: Rule, job: Job, subject: Subject) => string | null

/** Returns why a rule does not allow a job to read packages, or null. A rule for publishing allows reading on every ref and on most events. */
export const readProblem = (rule: Rule, job: Job): Problem | null =>
  firstProblem([...identityChecks, ...readChecks, ...(rule.isReadOnly ? usageChecks : [])], rule, job, {
    what: 'Packages can be read',
    published: null,
  })

/** Returns why a rule does not allow a job to publish a version, or null. */
export const publishProblem = (rule: Rule, job: Job, published: { name: string; version: string }): Problem | null =>
  firstProblem([...identityChecks, ...readChecks, ...publishChecks, ...usageChecks, checkTag], rule, job, {
    what: `${published.name} can be published`,
    published,
  })

function firstProblem(checks: readonly Check[], rule: Rule, job: Job, subject: Subject): Problem | null {
  for (const [rank, check] of checks.entries()) {
    const message = check(rule, job, subject)
    if (message !== null) return { ruleId: rule.id, rank, message: shown(message, 500) }
  }
  return null
}

const checkRepository: Check = (rule, { preset, facts: { repository } }, { what }) => {
  const { repository: pattern } = rule
  if (pattern === null || (repository !== null && matchesPattern(comparable(preset, pattern), comparable(preset, repository)))) return null
  const job =
    repository === null
      ? `The token of this job has no claim ${presetClaims[preset].repository}.`
      : `This job runs in ${spelledOut(repository)}.`
  return `${job} ${what} from ${pattern} only.`
}

/** Returns a text with ASCII letters in lower case, as `lower` of all databases does. */
export const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** Returns the name of a repository in the form in which names are compared. Names that differ only in case are the same for all known CI systems. */
const comparable = (preset: IssuerPreset, name: string): string => (preset === 'custom' ? name : lowerCase(name))

/** Returns the name of a repository for a message, in which letters that look like Latin ones are visible as what they are. */
export const spelledOut = (name: string): string =>
  shown(name).replace(/[^ -~]/gu, (letter) => `U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`)

/** Compares the ids with those of the first use: another repository can take the name of a deleted or renamed one. */
const checkIds: Check = (rule, { facts: { repository, repositoryId, ownerId } }) => {
  const name = shown(repository ?? 'The repository')
  if (rule.lockedRepositoryId !== null && rule.lockedRepositoryId !== repositoryId)
    return `${name} was renamed or re-created: its id is ${shown(repositoryId ?? 'missing')}, the rule is locked to ${rule.lockedRepositoryId}.`
  if (rule.lockedOwnerId !== null && rule.lockedOwnerId !== ownerId)
    return `${name} has another owner: its id is ${shown(ownerId ?? 'missing')}, the rule is locked to ${rule.lockedOwnerId}.`
  return null
}

const checkClaims: Check = (rule, { claims }, { what }) => {
  for (const [claim, pattern] of Object.entries(rule.claims)) {
    const value = claimText(claims, claim)
    if (value === null || !matchesPattern(pattern, value))
      return `The claim ${claim} of this job is ${value === null ? 'missing' : shown(value)}. ${what} with ${pattern} only.`
  }
  return null
}

const checkMayPublish: Check = ({ isReadOnly }, { facts: { repository } }, { published }) =>
  isReadOnly ? `Jobs of ${shown(repository ?? 'this repository')} can read packages, but not publish ${published?.name}.` : null

/** Rejects jobs that people who cannot write to the repository may have started. `workflow_run` also follows workflows of pull requests. */
const checkTrigger: Check = (rule, { preset, facts: { event } }) => {
  if (event === null) return null
  if (/^(?:pull_request|merge_request|external_pull_request)/i.test(event))
    return `This job was started by ${shown(event)}. Jobs of pull requests cannot publish.`
  if (presetClaims[preset].writerEvents?.includes(event) !== false || rule.events.includes(event)) return null
  return `This job was started by ${shown(event)}, which may need no write access. Such jobs can publish only if the rule names the event.`
}

/** Rejects jobs that have the rights of the repository, but can run the code of a fork or the commands of the user who reran them. */
const checkReadTrigger: Check = (_rule, { facts: { event } }) => {
  if (event === 'ssh_rerun') return 'This job was rerun with SSH access. Such jobs can neither read nor publish packages.'
  return event?.startsWith('pull_request_target')
    ? `This job was started by ${shown(event)}. Such jobs can neither read nor publish packages.`
    : null
}

/** Rejects reusable workflows of other repositories, whose owners could do whatever they like with the rights of the job, unless the rule names that repository in full. */
const checkDefinition: Check = (rule, { preset, facts: { definition, definingRepository, repository } }, { what }) => {
  if (definition === null) return null
  const [own, defining] = [repository, definingRepository].map((name) => name && comparable(preset, name))
  if (defining != null && defining === own) return null
  const named = comparable(preset, rule.workflow?.split('*')[0] ?? '')
  if (defining != null && named.startsWith(`${defining}/`)) return null
  const namesRepository = /^[^*/.][^*/]*\/[^*/]+\//.test(rule.workflow ?? '')
  const allowed = namesRepository ? rule.workflow : `${rule.workflow ?? 'workflows'} of ${shown(repository ?? '')}`
  return `This job runs the workflow ${shown(definition)} of another repository. ${what} by ${allowed} only.`
}

/**
 * Rejects refs other than branches and tags of the repository, such as those of pull requests. Some systems name these like branches: `pull/7`
 * (CircleCI), `refs/merge-requests/7/head` (GitLab), `owner:branch` for a fork (Buildkite).
 */
const checkRef: Check = (_rule, { facts: { ref } }) =>
  ref === null || /^refs\/(?:tags|heads\/(?!refs\/|pull\/\d))[^:]*$/.test(ref)
    ? null
    : `This job runs on ${shown(ref)}, which is neither a branch nor a tag of the repository. Such jobs cannot publish.`

const checkWorkflow: Check = (rule, { facts: { workflow, definition } }, { what }) => {
  if (rule.workflow === null) return null
  const names = [workflow, workflow?.split('/').at(-1), definition].filter((name) => name != null)
  if (names.some((name) => matchesPattern(rule.workflow ?? '', name))) return null
  return `This job runs ${workflow === null ? 'no known workflow' : `the workflow ${shown(workflow)}`}. ${what} by ${rule.workflow} only.`
}

const checkEnvironment: Check = (rule, { facts: { environment } }, { what }) => {
  if (rule.environment === null || (environment !== null && matchesPattern(rule.environment, environment))) return null
  return `This job runs in ${environment === null ? 'no environment' : `the environment ${shown(environment)}`}. ${what} from the environment ${rule.environment} only.`
}

const checkEvent: Check = (rule, { facts: { event } }, { what }) => {
  if (rule.events.length === 0 || (event !== null && rule.events.includes(event))) return null
  return `This job was started by ${event === null ? 'an unknown event' : shown(event)}. ${what} by jobs that ${rule.events.join(' or ')} starts only.`
}

function checkTag({ tagPattern }: Rule, { preset, facts: { ref } }: Job, { what, published }: Subject): string | null {
  if (tagPattern === null || published === null) return null
  const { name, version } = published
  const named = tagPattern.replaceAll('{{name}}', name)
  const expected = named.replace('{{version}}', () => version)
  if (ref === `refs/tags/${expected}`) return null
  const [before = '', after = ''] = named.split('{{version}}')
  const tag = ref?.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : null
  if (tag !== null && tag.length > before.length + after.length && tag.startsWith(before) && tag.endsWith(after))
    return `This job runs on the tag ${shown(tag)}. Version ${version} of ${name} can be published from the tag ${expected} only.`
  const job =
    ref === null ? `The token of this job has no claim ${presetClaims[preset].ref.join(' or ')}.` : `This job runs on ${shown(ref)}.`
  return `${job} ${what} from tags ${tagPattern} only.`
}

const identityChecks = [checkRepository, checkIds, checkClaims]
const readChecks = [checkReadTrigger, checkDefinition]
const publishChecks = [checkMayPublish, checkTrigger, checkRef]
const usageChecks = [checkWorkflow, checkEnvironment, checkEvent]
