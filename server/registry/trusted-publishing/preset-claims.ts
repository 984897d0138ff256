import type { IssuerPreset } from './entity.ts'

type PresetClaims = {
  /** What names the repository, for messages. */
  repository: string
  /** Claims with the ref, of which tokens have at least one. Empty if tokens never name it. */
  ref: readonly string[]
  /** Whether the ref can be a tag. */
  hasTags: boolean
  /** Whether the event is missing, or the same for pushes and pull requests, or that of a parent pipeline. */
  hidesPullRequests: boolean
  /** Events that only people who can write to the repository cause. Null if all are. Anyone can cause others, on the default branch: `issue_comment`. */
  writerEvents: readonly string[] | null
  /** What the name of a repository must match to name its owner. */
  repositoryWithOwner: RegExp
  /** The same for claims that identify an owner. Null if these are not known. */
  ownerClaims: Readonly<Record<string, RegExp>> | null
}

const exact = /^[^*]+$/
/** `owner/…`, or a name without `*`. */
const path = /^(?:[^*]+$|[^*/]+\/)/
/** Subjects that begin with a repository or its owner. A repository can choose what its subjects begin with, but not whose name follows. */
const subject =
  /^(?:repo|(?:repository|project|namespace|organization|pipeline|enterprise|repository_owner)(?:_id|_path)?):[^*/:]+(?:[/:]|$)/

const likeGithub: PresetClaims = {
  repository: 'repository',
  ref: ['ref'],
  hasTags: true,
  hidesPullRequests: false,
  writerEvents: [
    'push',
    'create',
    'release',
    'schedule',
    'workflow_dispatch',
    'repository_dispatch',
    'merge_group',
    'deployment',
    'deployment_status',
    'registry_package',
  ],
  repositoryWithOwner: path,
  ownerClaims: { repository: path, repository_id: exact, repository_owner: exact, repository_owner_id: exact, sub: subject },
}

/** What the tokens of CI systems contain. */
export const presetClaims: Record<IssuerPreset, PresetClaims> = {
  github: likeGithub,
  forgejo: likeGithub,
  gitlab: {
    repository: 'project_path',
    ref: ['ref', 'ref_path'],
    hasTags: true,
    hidesPullRequests: true,
    writerEvents: null,
    repositoryWithOwner: path,
    ownerClaims: { project_path: path, project_id: exact, namespace_path: path, namespace_id: exact, sub: subject },
  },
  buildkite: {
    repository: 'pipeline_slug',
    ref: ['build_branch', 'build_tag'],
    hasTags: true,
    hidesPullRequests: true,
    writerEvents: null,
    repositoryWithOwner: path,
    ownerClaims: { organization_slug: exact, organization_id: exact, pipeline_id: exact, sub: subject },
  },
  circleci: {
    repository: 'oidc.circleci.com/vcs-origin',
    ref: ['oidc.circleci.com/vcs-ref'],
    hasTags: true,
    hidesPullRequests: true,
    writerEvents: null,
    repositoryWithOwner: /^(?:[^*]+$|[^*/]+\/[^*/]+\/)/,
    ownerClaims: { 'oidc.circleci.com/org-id': exact, 'oidc.circleci.com/project-id': exact, sub: /^org\/[^*/]+\// },
  },
  bitbucket: {
    repository: 'repositoryUuid',
    ref: ['branchName'],
    hasTags: false,
    hidesPullRequests: true,
    writerEvents: null,
    repositoryWithOwner: exact,
    ownerClaims: { repositoryUuid: exact, workspaceUuid: exact, sub: /^[^*:]+:/ },
  },
  google: {
    repository: 'email that is verified',
    ref: [],
    hasTags: false,
    hidesPullRequests: false,
    writerEvents: null,
    // Only these domains belong to one project.
    repositoryWithOwner: /^(?:[^*]+|.*@[^*@]+\.iam\.gserviceaccount\.com)$/,
    ownerClaims: { email: exact, sub: exact },
  },
  custom: {
    ...likeGithub,
    repository: 'repository or sub',
    repositoryWithOwner: /^(?:[^*]+$|[^*/]+\/|[^*:]+:[^*:]+:)/,
    ownerClaims: null,
  },
}

/** Claims that can be the same for jobs of different owners: every token has some of them, and the others describe the run. */
const commonClaims = new Set(
  'iss aud exp iat nbf jti ref ref_type ref_path ref_protected event_name environment runner_environment repository_visibility workflow email_verified'.split(
    ' ',
  ),
)

/** Returns whether claims with these patterns identify an owner. */
export const identifiesOwner = (preset: IssuerPreset, patterns: Readonly<Record<string, string>>): boolean =>
  Object.entries(patterns).some(([claim, pattern]) => {
    const { ownerClaims, repositoryWithOwner } = presetClaims[preset]
    if (ownerClaims) return Object.hasOwn(ownerClaims, claim) && ownerClaims[claim]?.test(pattern) === true
    return claim === 'sub' ? repositoryWithOwner.test(pattern) : !commonClaims.has(claim) && exact.test(pattern)
  })
