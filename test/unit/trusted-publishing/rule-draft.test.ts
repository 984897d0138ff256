import { expect, it } from 'vitest'
import type { TrustedPublisherRowFragment } from '../../../web/generated/graphql.ts'
import { draftOf, ruleOf } from '../../../web/trusted-publishing/rule-draft.ts'
import { workflowSnippets } from '../../../web/trusted-publishing/workflow-snippets.ts'

const filled = {
  ...draftOf(undefined, 'issuer', false),
  repository: ' acme/acme_ui ',
  workflow: 'publish.yml',
  environment: 'release',
  events: 'push, release',
  claims: [
    { claim: 'runner_environment', pattern: 'github-hosted' },
    { claim: ' ', pattern: 'x' },
  ],
}

it('presets the tag of a release, with the name of the package for a publisher', () => {
  expect(draftOf(undefined, 'issuer', false)).toMatchObject({ tagPattern: 'v{{version}}', use: 'publish' })
  expect(draftOf(undefined, 'issuer', true).tagPattern).toBe('{{name}}-v{{version}}')
})

it('sends what was typed, without empty claims', () => {
  expect(ruleOf(filled, 'GITHUB')).toEqual({
    tokenIssuerId: 'issuer',
    label: null,
    repository: 'acme/acme_ui',
    tagPattern: 'v{{version}}',
    isReadOnly: false,
    workflow: 'publish.yml',
    environment: 'release',
    events: ['push', 'release'],
    claims: [{ claim: 'runner_environment', pattern: 'github-hosted' }],
  })
})

it('leaves out what the CI system does not know, and the tag of a rule that only reads', () => {
  expect(ruleOf(filled, 'GOOGLE')).toMatchObject({ tagPattern: null, workflow: null, environment: null, events: [] })
  expect(ruleOf(filled, 'BITBUCKET')).toMatchObject({ tagPattern: null, environment: 'release' })
  expect(ruleOf({ ...filled, use: 'read' }, 'GITHUB')).toMatchObject({ tagPattern: null, isReadOnly: true })
})

it('shows an existing rule in the form, and sends it back unchanged', () => {
  const rule = {
    issuer: { id: 'other' },
    repository: null,
    tagPattern: null,
    workflow: null,
    environment: 'release',
    label: 'Nightly',
    isReadOnly: false,
    events: ['push'],
    claims: [{ claim: 'sub', pattern: 'a*' }],
  } as unknown as TrustedPublisherRowFragment
  const { issuer, ...members } = rule
  expect(ruleOf(draftOf(rule, 'issuer', false), 'CUSTOM')).toEqual({ ...members, tokenIssuerId: issuer.id })
})

it.each([
  ['v{{version}}', 'acme_ui', "tags: ['v*']", '/^v.*$/'],
  ['{{name}}-v{{version}}', 'acme_ui', "tags: ['acme_ui-v*']", '/^acme_ui-v.*$/'],
  ['{{name}}-v{{version}}', undefined, "tags: ['*-v*']", '/^.*-v.*$/'],
  ['release/{{version}}', 'acme_ui', "tags: ['release/*']", String.raw`/^release\/.*$/`],
])('starts the job for tags of the pattern %s', (tagPattern, name, actions, gitlab) => {
  const [github, lab, forgejo] = workflowSnippets({ serverUrl: 'https://pub.example.com', tagPattern, name })
  expect(github?.code).toContain(actions)
  expect(forgejo?.code).toContain(actions)
  expect(lab?.code).toContain(`$CI_COMMIT_TAG =~ ${gitlab}`)
})

it('requests a token for the address of this server, and adds it to dart', () => {
  const snippets = workflowSnippets({ serverUrl: 'https://pub.example.com/registry', tagPattern: 'v{{version}}', name: 'acme_ui' })
  for (const { code, key } of snippets) {
    expect(code).toContain('dart pub token add https://pub.example.com/registry --env-var SNUG_TOKEN')
    expect(code).toContain(key === 'gitlab' ? 'aud: https://pub.example.com/registry' : 'audience=https%3A%2F%2Fpub.example.com%2Fregistry')
  }
})
