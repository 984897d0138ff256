/** Name of the variable that holds the token of the job. */
const variable = 'SNUG_TOKEN'

interface Workflow {
  /** Address of this server, which is also the audience of the token. */
  serverUrl: string
  /** Pattern of the tags from which versions are published. */
  tagPattern: string
  /** The package; undefined for a publisher. */
  name: string | undefined
}

/** Returns files that publish a package from a tag without a stored secret. */
export function workflowSnippets({ serverUrl, tagPattern, name }: Workflow) {
  const tags = (name === undefined ? tagPattern.replaceAll('{{name}}', '*') : tagPattern.replaceAll('{{name}}', name)).replace(
    '{{version}}',
    '*',
  )
  const token = `dart pub token add ${serverUrl} --env-var ${variable}`
  const publish = ['dart pub get', 'dart pub publish --force']
  const actions = (settings: string[]) => [
    'on:',
    '  push:',
    `    tags: ['${tags}']`,
    'jobs:',
    '  publish:',
    ...settings,
    '    steps:',
    '      - uses: actions/checkout@v4',
  ]
  const request = (value: string) => [
    '      - run: |',
    '          token=$(curl -sSf -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\',
    `            "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${encodeURIComponent(serverUrl)}" | ${value})`,
    '          echo "::add-mask::$token"',
    `          echo "${variable}=$token" >> "$GITHUB_ENV"`,
  ]
  const steps = [token, ...publish].map((command) => `      - run: ${command}`)
  return [
    {
      key: 'github',
      label: 'GitHub Actions',
      file: '.github/workflows/publish.yml',
      code: [
        ...actions(['    runs-on: ubuntu-latest', '    permissions:', '      contents: read', '      id-token: write']),
        '      - uses: dart-lang/setup-dart@v1',
        ...request('jq -r .value'),
        ...steps,
      ].join('\n'),
    },
    {
      key: 'gitlab',
      label: 'GitLab CI',
      file: '.gitlab-ci.yml',
      code: [
        'publish:',
        '  image: dart:stable',
        '  rules:',
        `    - if: $CI_COMMIT_TAG =~ /^${escaped(tags)}$/`,
        '  id_tokens:',
        `    ${variable}:`,
        `      aud: ${serverUrl}`,
        '  script:',
        ...[token, ...publish].map((command) => `    - ${command}`),
      ].join('\n'),
    },
    {
      key: 'forgejo',
      label: 'Forgejo Actions',
      file: '.forgejo/workflows/publish.yml',
      code: [
        ...actions(['    runs-on: docker', '    enable-openid-connect: true']),
        '      - uses: https://github.com/dart-lang/setup-dart@v1',
        ...request(String.raw`sed 's/.*"value" *: *"\([^"]*\)".*/\1/'`), // images for Forgejo often lack jq
        ...steps,
      ].join('\n'),
    },
  ]
}

/** Returns a regular expression for a tag with `*`. */
const escaped = (tags: string) => tags.replace(/[.+?^${}()|[\]\\/]/g, String.raw`\$&`).replaceAll('*', '.*')
