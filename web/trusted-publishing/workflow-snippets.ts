/** Name of the variable that holds the token of the job. */
const variable = 'SNUG_TOKEN'

/** What a job does: publish a version from its tag, or fetch packages and test. */
export type WorkflowUse = 'publish' | 'read'

interface Workflow {
  use: WorkflowUse
  /** Address of this server, which is also the audience of the token. */
  serverUrl: string
  /** Pattern of the tags from which versions are published. */
  tagPattern: string
  /** The package; undefined for a publisher. */
  name: string | undefined
}

/** Returns files for jobs that publish or fetch packages without a stored secret. The help page has the same files. */
export function workflowSnippets({ use, serverUrl, tagPattern, name }: Workflow) {
  const tags = tagPattern.replaceAll('{{name}}', name ?? '*').replace('{{version}}', '*')
  const isPublish = use === 'publish'
  const commands = [
    `dart pub token add ${serverUrl} --env-var ${variable}`,
    'dart pub get',
    isPublish ? 'dart pub publish --force' : 'dart test',
  ]
  const job = isPublish ? 'publish' : 'test'
  const trigger = isPublish ? ['on:', '  push:', `    tags: [${quoted(tags.replace(/[+?![\]]/g, String.raw`\$&`))}]`] : ['on: push']
  const actions = (settings: string[], setUp: string, value: string) =>
    [
      ...trigger,
      'jobs:',
      `  ${job}:`,
      ...settings,
      '    steps:',
      '      - uses: actions/checkout@v4',
      `      - uses: ${setUp}`,
      '      - run: |',
      '          token=$(curl -sSf -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\',
      `            "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${encodeURIComponent(serverUrl)}" | ${value})`,
      '          echo "::add-mask::$token"',
      `          echo "${variable}=$token" >> "$GITHUB_ENV"`,
      ...commands.map((command) => `      - run: ${command}`),
    ].join('\n')
  return [
    {
      key: 'github',
      label: 'GitHub Actions',
      file: `.github/workflows/${job}.yml`,
      code: actions(
        ['    runs-on: ubuntu-latest', '    permissions:', '      contents: read', '      id-token: write'],
        'dart-lang/setup-dart@v1',
        'jq -r .value',
      ),
    },
    {
      key: 'gitlab',
      label: 'GitLab CI',
      file: '.gitlab-ci.yml',
      code: [
        `${job}:`,
        '  image: dart:stable',
        ...(isPublish ? ['  rules:', `    - if: ${quoted(`$CI_COMMIT_TAG =~ /^${expressionFor(tags)}$/`)}`] : []),
        '  id_tokens:',
        `    ${variable}:`,
        `      aud: ${serverUrl}`,
        '  script:',
        ...commands.map((command) => `    - ${command}`),
      ].join('\n'),
    },
    {
      key: 'forgejo',
      label: 'Forgejo Actions',
      file: `.forgejo/workflows/${job}.yml`,
      code: actions(
        ['    runs-on: docker', '    enable-openid-connect: true'],
        'https://github.com/dart-lang/setup-dart@v1',
        String.raw`sed 's/.*"value" *: *"\([^"]*\)".*/\1/'`, // images for Forgejo often lack jq
      ),
    },
  ]
}

/** Returns a text in single quotes, as YAML has them. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns a regular expression for a tag with `*`. */
const expressionFor = (tags: string): string => tags.replace(/[.+?^${}()|[\]\\/]/g, String.raw`\$&`).replaceAll('*', '.*')
