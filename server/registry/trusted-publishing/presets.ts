import type { IssuerPreset } from './entity.ts'

/** The verified claims of a token. */
export type Claims = Readonly<Record<string, unknown>>

/** What a token contains about its job. Null for what the CI system leaves out. */
export type JobFacts = {
  repository: string | null
  /** Ids of the repository and its owner, which stay when they are renamed. */
  repositoryId: string | null
  ownerId: string | null
  /** Full Git ref, such as `refs/tags/v1.0.0`. */
  ref: string | null
  commit: string | null
  /** Path of the workflow file in the repository. */
  workflow: string | null
  /** Repository and path of the workflow file that defines the job: that file, or a reusable workflow, which can be in another repository. */
  definition: string | null
  /** The repository of that file. */
  definingRepository: string | null
  environment: string | null
  /** What started the job, such as `push`. */
  event: string | null
  runId: string | null
}

/** Returns a claim as text; null if it is missing or empty. */
export function claimText(claims: Claims, name: string): string | null {
  const value = claims[name]
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

/** Returns what the claims of a token say about its job. */
export function describeJob(preset: IssuerPreset, claims: Claims): JobFacts {
  const facts = readers[preset]((name) => claimText(claims, name))
  return { ...noFacts, ...facts }
}

const noFacts: JobFacts = {
  repository: null,
  repositoryId: null,
  ownerId: null,
  ref: null,
  commit: null,
  workflow: null,
  definition: null,
  definingRepository: null,
  environment: null,
  event: null,
  runId: null,
}

type Read = (claim: string) => string | null

/** GitHub Actions, and systems with the same claims. `workflow_ref` is `owner/repository/.github/workflows/file.yml@refs/heads/main`. */
function github(read: Read): Partial<JobFacts> {
  const definition = read('job_workflow_ref') ?? read('workflow_ref')
  const [, path = null] = /^[^/]+\/[^/@]+\/([^@]+)/.exec(read('workflow_ref') ?? definition ?? '') ?? []
  return {
    repository: read('repository'),
    repositoryId: read('repository_id'),
    ownerId: read('repository_owner_id'),
    ref: read('ref'),
    commit: read('sha'),
    workflow: path ?? read('workflow'),
    definition: definition?.split('@')[0] ?? null,
    definingRepository: /^[^/]+\/[^/@]+(?=\/)/.exec(definition ?? '')?.[0] ?? null,
    environment: read('environment'),
    event: read('event_name'),
    runId: read('run_id'),
  }
}

/** GitLab CI. `ci_config_ref_uri` is `gitlab.com/group/project//.gitlab-ci.yml@refs/heads/main`. */
function gitlab(read: Read): Partial<JobFacts> {
  const [, project, path] = /^[^/]+\/(.+?)\/\/([^@]+)/.exec(read('ci_config_ref_uri') ?? '') ?? []
  return {
    repository: read('project_path'),
    repositoryId: read('project_id'),
    ownerId: read('namespace_id'),
    ref: read('ref_path') ?? fullRef(read('ref_type'), read('ref')),
    commit: read('sha'),
    workflow: path ?? null,
    definition: project === undefined ? null : `${project}/${path}`,
    definingRepository: project ?? null,
    environment: read('environment'),
    event: read('pipeline_source'),
    runId: read('job_id'),
  }
}

const buildkite = (read: Read): Partial<JobFacts> => ({
  repository: join(read('organization_slug'), read('pipeline_slug')),
  repositoryId: read('pipeline_id'),
  ownerId: read('organization_id'),
  ref: fullRef('tag', read('build_tag')) ?? fullRef('branch', read('build_branch')),
  commit: read('build_commit'),
  workflow: read('step_key'),
  event: read('build_source'),
  runId: read('build_number'),
})

const circleci = (read: Read): Partial<JobFacts> => ({
  repository: read('oidc.circleci.com/vcs-origin'),
  repositoryId: read('oidc.circleci.com/project-id'),
  ownerId: read('oidc.circleci.com/org-id'),
  ref: read('oidc.circleci.com/vcs-ref'),
  event: read('oidc.circleci.com/ssh-rerun') === 'true' ? 'ssh_rerun' : null,
  runId: read('oidc.circleci.com/job-id'),
})

/** Bitbucket Pipelines, which names repositories and environments by UUID, and no tags. */
const bitbucket = (read: Read): Partial<JobFacts> => ({
  repository: read('repositoryUuid'),
  repositoryId: read('repositoryUuid'),
  ownerId: read('workspaceUuid'),
  ref: fullRef('branch', read('branchName')),
  environment: read('deploymentEnvironmentUuid'),
  runId: read('pipelineUuid'),
})

/** Service accounts of Google Cloud, which are named by their e-mail address. */
const google = (read: Read): Partial<JobFacts> => ({
  repository: read('email_verified') === 'true' ? read('email') : null,
  repositoryId: read('sub'),
})

/** Other systems: the claims of GitHub if there are any, otherwise the subject. */
function custom(read: Read): Partial<JobFacts> {
  const facts = github(read)
  return { ...facts, repository: facts.repository ?? read('sub') }
}

const readers: Record<IssuerPreset, (read: Read) => Partial<JobFacts>> = {
  github,
  gitlab,
  forgejo: github,
  buildkite,
  circleci,
  bitbucket,
  google,
  custom,
}

const join = (...parts: (string | null)[]): string | null => (parts.every((part) => part !== null) ? parts.join('/') : null)

function fullRef(type: string | null, name: string | null): string | null {
  if (name === null) return null
  return type === 'tag' ? `refs/tags/${name}` : `refs/heads/${name}`
}

/** URLs of a job on the website of its CI system; null if the system's website is not known. */
export type JobUrls = { repositoryUrl: string | null; commitUrl: string | null; runUrl: string | null }

/** Returns the URLs of a job's repository, commit and run. */
export function jobUrls(preset: IssuerPreset, issuerUrl: string, claims: Claims): JobUrls {
  const { repository, commit, runId } = describeJob(preset, claims)
  const none = { repositoryUrl: null, commitUrl: null, runUrl: null }
  if (repository === null) return none
  const path = repository.split('/').map(encodeURIComponent).join('/')
  const below = (base: string, commits: string, run: string | null) => ({
    repositoryUrl: base,
    commitUrl: commit && `${base}/${commits}/${encodeURIComponent(commit)}`,
    runUrl: run && `${base}/${run}`,
  })
  if (preset === 'github') return below(`${githubSite(issuerUrl)}/${path}`, 'commit', runId && `actions/runs/${encodeURIComponent(runId)}`)
  if (preset === 'gitlab') return below(`${issuerUrl}/${path}`, '-/commit', runId && `-/jobs/${encodeURIComponent(runId)}`)
  if (preset === 'forgejo') {
    const number = claimText(claims, 'run_number')
    return below(`${issuerUrl.replace(/\/api\/actions.*$/, '')}/${path}`, 'commit', number && `actions/runs/${encodeURIComponent(number)}`)
  }
  if (preset !== 'buildkite') return none
  return { ...none, runUrl: runId && `https://buildkite.com/${path}/builds/${encodeURIComponent(runId)}` }
}

/** Returns the website of a GitHub issuer: github.com, a tenant of ghe.com, or an Enterprise Server. */
function githubSite(issuerUrl: string): string {
  const { origin, hostname, protocol } = new URL(issuerUrl)
  if (hostname === 'token.actions.githubusercontent.com') return 'https://github.com'
  return hostname.startsWith('token.actions.') ? `${protocol}//${hostname.slice('token.actions.'.length)}` : origin
}
