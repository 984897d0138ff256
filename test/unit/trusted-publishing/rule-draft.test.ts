import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
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
  const [github, lab, forgejo] = workflowSnippets({ use: 'publish', serverUrl: 'https://pub.example.com', tagPattern, name })
  expect(github?.code).toContain(actions)
  expect(forgejo?.code).toContain(actions)
  expect(lab?.code).toContain(`$CI_COMMIT_TAG =~ ${gitlab}`)
})

const uses = ['publish', 'read'] as const
const example = { serverUrl: 'https://pub.example.com', tagPattern: 'v{{version}}', name: 'acme_ui' }

it.each(uses)('requests a token for the address of this server, and adds it to dart, to %s', (use) => {
  const serverUrl = 'https://pub.example.com/registry'
  for (const { code, key } of workflowSnippets({ ...example, use, serverUrl })) {
    expect(code).toContain(`dart pub token add ${serverUrl} --env-var SNUG_TOKEN`)
    expect(code).toContain(key === 'gitlab' ? `aud: ${serverUrl}` : 'audience=https%3A%2F%2Fpub.example.com%2Fregistry')
    expect(code.includes('dart pub publish --force')).toBe(use === 'publish')
  }
})

type Job = { permissions?: object; 'enable-openid-connect'?: boolean; steps: { uses?: string; run?: string }[] }
type Actions = { on: unknown; jobs: Record<string, Job> }
type Gitlab = Record<string, { rules?: { if: string }[]; id_tokens: object; script: string[] }>

it.each(['v{{version}}', "it's/{{name}}+v{{version}}"])('writes files that are valid YAML for tags of the pattern %s', (tagPattern) => {
  for (const use of uses) {
    const [github, gitlab, forgejo] = workflowSnippets({ ...example, use, tagPattern }).map(({ code }) => parse(code) as unknown)
    const name = use === 'publish' ? 'publish' : 'test'
    const tags = tagPattern === 'v{{version}}' ? ['v*'] : [String.raw`it's/acme_ui\+v*`]
    const last = use === 'publish' ? 'dart pub publish --force' : 'dart test'
    for (const file of [github, forgejo] as Actions[]) {
      expect(file.on).toEqual(use === 'publish' ? { push: { tags } } : 'push')
      expect(file.jobs[name]?.steps.at(-1)).toEqual({ run: last })
    }
    expect((github as Actions).jobs[name]?.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    expect((forgejo as Actions).jobs[name]?.['enable-openid-connect']).toBe(true)
    const job = (gitlab as Gitlab)[name]
    expect(job?.id_tokens).toEqual({ SNUG_TOKEN: { aud: example.serverUrl } })
    expect(job?.script.at(-1)).toBe(last)
    expect(job?.rules?.map((rule) => rule.if.startsWith('$CI_COMMIT_TAG =~ /^'))).toEqual(use === 'publish' ? [true] : undefined)
  }
})

it.each(uses)('shows the same files to %s on the help page', async (use) => {
  const page = await readFile(new URL('../../../web/help/trusted-publishing.md', import.meta.url), 'utf8')
  for (const { code, file } of workflowSnippets({ ...example, use })) expect(page).toContain(`\`${file}\`:\n\n\`\`\`yaml\n${code}\n\`\`\``)
})
