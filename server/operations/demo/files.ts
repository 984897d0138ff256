import type { DemoType, Release } from './releases.ts'

/** Files of an archive by path. */
export type Files = Record<string, string | Buffer>

/** Returns the text files of a release. `history` are the releases of the package up to this one, the oldest first. */
export function filesOf(release: Release, history: readonly Release[], serverUrl: string): Files {
  const { pkg, api } = release
  const sources = api.map((type): [string, string] => [`lib/src/${snake(type.name)}.dart`, sourceOf(type, pkg.kind === 'flutter')])
  return {
    'pubspec.yaml': pubspecOf(release, serverUrl),
    'README.md': readmeOf(release, serverUrl),
    'CHANGELOG.md': changelogOf(history),
    LICENSE: license,
    'analysis_options.yaml': 'include: package:harbor_lints/recommended.yaml\n',
    [`lib/${pkg.name}.dart`]: `/// ${pkg.description}\nlibrary;\n\n${api.map(({ name }) => `export 'src/${snake(name)}.dart';\n`).join('')}`,
    ...Object.fromEntries(sources),
    'example/main.dart': exampleOf(release),
    [`test/${pkg.name}_test.dart`]: testOf(release),
  }
}

const snake = (name: string): string => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
const words = (name: string): string => snake(name).replaceAll('_', ' ')

/** The path and the size in pixels of a screenshot, for packages with pictures. */
export const screenshotPath = 'screenshots/overview.png'
export const screenshotSize = { width: 960, height: 600 }
export const hasPictures = ({ pkg }: Release): boolean => pkg.kind === 'flutter'

function pubspecOf(release: Release, serverUrl: string): string {
  const { pkg, version, dependencies } = release
  const lines = [
    `name: ${pkg.name}`,
    `version: ${version}`,
    `description: ${JSON.stringify(pkg.description)}`,
    `repository: https://git.example.com/harbor/${pkg.name}`,
    `issue_tracker: https://git.example.com/harbor/${pkg.name}/issues`,
    `topics: [${pkg.topics.join(', ')}]`,
    ...(hasPictures(release) ? ['screenshots:', `  - description: ${JSON.stringify(pkg.description)}`, `    path: ${screenshotPath}`] : []),
    'environment:',
    `  sdk: ${Number(version.split('.')[0]) > 1 ? '^3.4.0' : '^3.0.0'}`,
    ...(pkg.kind === 'flutter' ? ["  flutter: '>=3.10.0'"] : []),
    'dependencies:',
    ...(pkg.kind === 'flutter' ? ['  flutter:', '    sdk: flutter'] : ['  meta: ^1.11.0']),
    ...Object.entries(dependencies).flatMap(([name, base]) => [`  ${name}:`, `    hosted: ${serverUrl}`, `    version: ^${base}`]),
    'dev_dependencies:',
    '  test: ^1.25.0',
  ]
  return `${lines.join('\n')}\n`
}

function readmeOf(release: Release, serverUrl: string): string {
  const { pkg, version, api } = release
  const [main, second] = [api[0], api[1] ?? api[0]]
  const badge = (kind: string) => `![${kind}](${serverUrl}/packages/${pkg.name}/badges/${kind}.svg)`
  const { width, height } = screenshotSize
  // With its size, so that the text below does not move when the picture is loaded.
  const picture = hasPictures(release)
    ? `\n<img src="${screenshotPath}" alt="${pkg.description}" width="${width}" height="${height}">\n`
    : ''
  const rows = api.map(
    ({ name, methods }) => `| [\`${name}\`](lib/src/${snake(name)}.dart) | ${methods.map((one) => `\`${one}\``).join(', ')} |`,
  )
  return `# ${pkg.name}

${badge('version')} ${badge('score')}

${pkg.description}
${picture}
## Features

${rows.length ? ['| Type | Operations |', '|---|---|', ...rows].join('\n') : ''}

> [!NOTE]
> The API follows semantic versioning. Deprecated members stay for one minor version.[^1]

## Getting started

\`\`\`yaml
dependencies:
  ${pkg.name}:
    hosted: ${serverUrl}
    version: ^${version}
\`\`\`

## Usage

\`\`\`dart
${usageOf(release)}
\`\`\`

${second ? `Use \`${second.name}\` when the ${words(second.name)} is shared between screens.` : ''}

## Checklist

- [x] Null safety
- [x] Documented API
- [${(main?.methods.length ?? 0) > 2 ? 'x' : ' '}] Stable interface

Questions? Ask in the #${pkg.topics[0] ?? 'dart'} channel. :wave:

[^1]: See the [changelog](CHANGELOG.md) and the [example](example/main.dart).
`
}

function usageOf({ pkg, api }: Release): string {
  const [type] = api
  if (!type) return ''
  const variable = type.name.charAt(0).toLowerCase() + type.name.slice(1)
  return `import 'package:${pkg.name}/${pkg.name}.dart';

Future<void> main() async {
  final ${variable} = ${type.name}(label: 'Harbor');
${type.methods.map((method) => `  await ${variable}.${method}();`).join('\n')}
}`
}

const exampleOf = (release: Release): string => `// A minimal example of ${release.pkg.name}.\n${usageOf(release)}\n`

const testOf = ({ pkg, api }: Release): string => `import 'package:test/test.dart';
import 'package:${pkg.name}/${pkg.name}.dart';

void main() {
${api.map(({ name }) => `  test('${name} keeps its label', () {\n    expect(${name}(label: 'a').label, 'a');\n  });`).join('\n')}
}
`

function changelogOf(history: readonly Release[]): string {
  const entries = history.toReversed().map(({ version, changes }) => `## ${version}\n\n${changes.map((line) => `- ${line}`).join('\n')}\n`)
  return entries.join('\n')
}

function sourceOf({ name, methods }: DemoType, isWidget: boolean): string {
  const imports = isWidget ? "import 'package:flutter/widgets.dart';\n\n" : "import 'package:meta/meta.dart';\n\n"
  const operations = methods.map(
    (method) => `
  /// Performs \`${method}\` on this ${words(name)}.
  ///
  /// Completes with the label, or throws a [StateError] if [isEnabled] is false.
  Future<String> ${method}({Duration timeout = const Duration(seconds: 5)}) async {
    if (!isEnabled) throw StateError('$label is disabled.');
    return label;
  }`,
  )
  return `${imports}/// The ${words(name)}.
///
/// Instances are immutable and can be shared.
${isWidget ? '' : '@immutable\n'}class ${name} ${isWidget ? 'extends StatelessWidget ' : ''}{
  /// Creates a ${words(name)} with the given [label].
  const ${name}({${isWidget ? 'super.key, ' : ''}required this.label, this.isEnabled = true});

  /// The label, shown to people and in logs.
  final String label;

  /// Whether operations are allowed.
  final bool isEnabled;
${operations.join('\n')}
${isWidget ? '\n  @override\n  Widget build(BuildContext context) => Text(label);\n' : ''}}
`
}

const license = `BSD 3-Clause License

Copyright (c) 2026, Harbor

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this
   list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice,
   this list of conditions and the following disclaimer in the documentation
   and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its
   contributors may be used to endorse or promote products derived from
   this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
`
