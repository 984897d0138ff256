import type { TokenIssuerPreset } from '../generated/graphql.ts'

/** A field of the form for a rule: what the CI system calls it. */
interface Field {
  label: string
  placeholder?: string
  help?: string
}

/** How the jobs of a CI system are described. A field that is missing does not exist in its tokens. */
export interface Preset {
  /** Name of the CI system. */
  label: string
  /** The issuer URL; empty if each installation or organization has its own. */
  issuerUrl: string
  issuerPlaceholder: string
  issuerHelp?: string
  repository: Field
  workflow?: Field
  environment?: Field
  events?: Field
  /** Whether its tokens name the Git tag. */
  hasTags: boolean
}

const environment = { label: 'Environment', placeholder: 'release', help: 'The deployment environment of the job.' }

export const presets: Record<TokenIssuerPreset, Preset> = {
  GITHUB: {
    label: 'GitHub Actions',
    issuerUrl: 'https://token.actions.githubusercontent.com',
    issuerPlaceholder: 'https://github.example.com/_services/token',
    issuerHelp: 'For an Enterprise Server: https://<host>/_services/token.',
    repository: { label: 'Repository', placeholder: 'acme/acme_ui', help: 'Owner and name.' },
    workflow: { label: 'Workflow file', placeholder: 'publish.yml', help: 'A file in .github/workflows.' },
    environment,
    events: { label: 'Events', placeholder: 'push', help: 'Kinds of events that may start the job. Pull requests never may.' },
    hasTags: true,
  },
  GITLAB: {
    label: 'GitLab CI',
    issuerUrl: 'https://gitlab.com',
    issuerPlaceholder: 'https://gitlab.example.com',
    issuerHelp: 'For a self-managed server, its address.',
    repository: { label: 'Project', placeholder: 'acme/acme_ui', help: 'Path of the project with its groups.' },
    workflow: { label: 'Pipeline file', placeholder: '.gitlab-ci.yml' },
    environment,
    events: { label: 'Pipeline sources', placeholder: 'push', help: 'Merge requests never may.' },
    hasTags: true,
  },
  FORGEJO: {
    label: 'Forgejo Actions',
    issuerUrl: '',
    issuerPlaceholder: 'https://forgejo.example.com/api/actions',
    issuerHelp: 'The address of the server, followed by /api/actions.',
    repository: { label: 'Repository', placeholder: 'acme/acme_ui', help: 'Owner and name.' },
    workflow: { label: 'Workflow file', placeholder: 'publish.yml', help: 'A file in .forgejo/workflows.' },
    events: { label: 'Events', placeholder: 'push', help: 'Kinds of events that may start the job. Pull requests never may.' },
    hasTags: true,
  },
  BUILDKITE: {
    label: 'Buildkite',
    issuerUrl: 'https://agent.buildkite.com',
    issuerPlaceholder: 'https://agent.buildkite.com',
    repository: { label: 'Pipeline', placeholder: 'acme/acme-ui', help: 'Organization and pipeline.' },
    workflow: { label: 'Step key', placeholder: 'publish' },
    events: { label: 'Build sources', placeholder: 'webhook', help: 'What may create the build.' },
    hasTags: true,
  },
  CIRCLECI: {
    label: 'CircleCI',
    issuerUrl: '',
    issuerPlaceholder: 'https://oidc.circleci.com/org/<organization id>',
    issuerHelp: 'Each organization has its own: https://oidc.circleci.com/org/<organization id>.',
    repository: { label: 'Repository', placeholder: 'github.com/acme/acme_ui', help: 'With its host.' },
    hasTags: true,
  },
  BITBUCKET: {
    label: 'Bitbucket Pipelines',
    issuerUrl: '',
    issuerPlaceholder: 'https://api.bitbucket.org/2.0/workspaces/<workspace>/pipelines-config/identity/oidc',
    issuerHelp: 'Each workspace has its own. Bitbucket shows it in Repository settings, OpenID Connect.',
    repository: {
      label: 'Repository UUID',
      placeholder: '{5d1f2c0a-…}',
      help: 'With its braces, as in Repository settings, OpenID Connect.',
    },
    environment: {
      label: 'Environment UUID',
      placeholder: '{0b9c4e1d-…}',
      help: 'Tokens of Bitbucket never name tags. To publish, name an environment to which only the release branch deploys.',
    },
    hasTags: false,
  },
  GOOGLE: {
    label: 'Google service accounts',
    issuerUrl: 'https://accounts.google.com',
    issuerPlaceholder: 'https://accounts.google.com',
    repository: { label: 'Service account', placeholder: 'release@acme.iam.gserviceaccount.com', help: 'Its e-mail address.' },
    hasTags: false,
  },
  CUSTOM: {
    label: 'Another system',
    issuerUrl: '',
    issuerPlaceholder: 'https://ci.example.com',
    issuerHelp: 'The claim “iss” of its tokens.',
    repository: { label: 'Repository or subject', placeholder: 'acme/acme_ui', help: 'The claim “repository”, otherwise “sub”.' },
    workflow: { label: 'Workflow file', placeholder: 'publish.yml' },
    environment,
    events: { label: 'Events', placeholder: 'push' },
    hasTags: true,
  },
}

/** All CI systems, in the order of the form. */
export const presetChoices = Object.entries(presets).map(([value, { label }]) => ({ value: value as TokenIssuerPreset, label }))
