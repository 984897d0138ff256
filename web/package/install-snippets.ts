import type { Tool } from './preferences.ts'

/** Name of the variable that holds the token in CI jobs. */
const variable = 'SNUG_TOKEN'

/** Returns the steps of a CI job that fetches the dependencies with a token from a secret, for a file of this service. */
export const ciSnippets = (tool: Tool, tokenCommand: string, needsToken: boolean) => {
  const token = `${tokenCommand} --env-var ${variable}`
  const secret = `\${{ secrets.${variable} }}` // expanded by GitHub
  const setUp = tool === 'flutter' ? 'subosito/flutter-action@v2' : 'dart-lang/setup-dart@v1'
  const image = tool === 'flutter' ? 'ghcr.io/cirruslabs/flutter:stable' : 'dart:stable'
  return [
    {
      key: 'github',
      label: 'GitHub Actions',
      file: '.github/workflows/test.yaml',
      secret: `Add the token as a repository secret named ${variable}: Settings, Secrets and variables, Actions.`,
      code: [
        'on: [push, pull_request]',
        'jobs:',
        '  test:',
        '    runs-on: ubuntu-latest',
        ...(needsToken ? ['    env:', `      ${variable}: ${secret}`] : []),
        '    steps:',
        '      - uses: actions/checkout@v4',
        `      - uses: ${setUp}`,
        ...(needsToken ? [`      - run: ${token}`] : []),
        `      - run: ${tool} pub get`,
        `      - run: ${tool} test`,
      ].join('\n'),
    },
    {
      key: 'gitlab',
      label: 'GitLab CI',
      file: '.gitlab-ci.yml',
      secret: `Add the token as a masked variable named ${variable}: Settings, CI/CD, Variables.`,
      code: [
        'test:',
        `  image: ${image}`,
        '  script:',
        ...(needsToken ? [`    - ${token}`] : []),
        `    - ${tool} pub get`,
        `    - ${tool} test`,
      ].join('\n'),
    },
  ]
}
