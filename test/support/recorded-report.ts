/**
 * Output of pana 0.23.18 with `--json` for the package async, as recorded in pana's own tests. Shortened to what varies, and with a repository that
 * could not be verified. The fake pana replaces the names in double braces.
 */
export const recordedReport = {
  createdAt: '2022-11-23T11:09:00.000Z',
  runtimeInfo: {
    panaVersion: '0.23.18',
    sdkVersion: '{{sdk}}',
    flutterVersions: {},
  },
  packageName: '{{name}}',
  packageVersion: '{{version}}',
  pubspec: {
    name: '{{name}}',
    version: '{{version}}',
  },
  allDependencies: [],
  tags: [
    'sdk:dart',
    'sdk:flutter',
    'platform:android',
    'platform:ios',
    'platform:windows',
    'platform:linux',
    'platform:macos',
    'platform:web',
    'runtime:native-aot',
    'runtime:native-jit',
    'runtime:web',
    'is:null-safe',
    'is:wasm-ready',
    'is:dart3-compatible',
    'license:bsd-3-clause',
    'license:fsf-libre',
    'license:osi-approved',
    'topic:async',
  ],
  report: {
    sections: [
      {
        id: 'convention',
        title: 'Follow Dart file conventions',
        grantedPoints: 20,
        maxPoints: 30,
        status: 'failed',
        summary:
          '### [x] 0/10 points: Provide a valid `pubspec.yaml`\n\n<details>\n<summary>\nFailed to verify repository URL.\n</summary>\n\n*`pubspec.yaml` from the repository defines `publish_to`, thus, we are unable to verify the package is published from here.*\n\nPlease provide a valid [`repository`](https://dart.dev/tools/pub/pubspec#repository) URL in `pubspec.yaml`, such that:\n\n * `repository` can be cloned,\n * a clone of the repository contains a `pubspec.yaml`, which:,\n    * contains `name: {{name}}`,\n    * contains a `version` property, and,\n    * does not contain a `publish_to` property.\n</details>\n\n### [*] 5/5 points: Provide a valid `README.md`\n\n### [*] 5/5 points: Provide a valid `CHANGELOG.md`\n\n### [*] 10/10 points: Use an OSI-approved license\n\nDetected license: `BSD-3-Clause`.\n',
      },
      {
        id: 'documentation',
        title: 'Provide documentation',
        grantedPoints: 10,
        maxPoints: 20,
        status: 'failed',
        summary:
          '### [*] 10/10 points: 20% or more of the public API has dartdoc comments\n\n246 out of 263 API elements (93.5 %) have documentation comments.\n\nSome symbols that are missing documentation: `async.AsyncMemoizer.AsyncMemoizer.new`, `async.ChunkedStreamReader.ChunkedStreamReader.new`, `async.DelegatingFuture.DelegatingFuture.new`, `async.DelegatingStream.DelegatingStream.new`, `async.ErrorResult.ErrorResult.new`.\n\n### [x] 0/10 points: Package has an example\n\n<details>\n<summary>\nNo example found.\n</summary>\n\nSee [package layout](https://dart.dev/tools/pub/package-layout#examples) guidelines on how to add an example.\n</details>\n',
      },
      {
        id: 'platform',
        title: 'Platform support',
        grantedPoints: 20,
        maxPoints: 20,
        status: 'passed',
        summary:
          '### [*] 20/20 points: Supports 6 of 6 possible platforms (**iOS**, **Android**, **Web**, **Windows**, **macOS**, **Linux**)\n\n* ✓ Android\n\n* ✓ iOS\n\n* ✓ Windows\n\n* ✓ Linux\n\n* ✓ macOS\n\n* ✓ Web\n\n\n**WASM-ready:** This package is compatible with runtime `wasm`. See https://dart.dev/web/wasm for details.\n',
      },
      {
        id: 'analysis',
        title: 'Pass static analysis',
        grantedPoints: 50,
        maxPoints: 50,
        status: 'passed',
        summary: '### [*] 50/50 points: code has no errors, warnings, lints, or formatting issues\n',
      },
      {
        id: 'dependency',
        title: 'Support up-to-date dependencies',
        grantedPoints: 40,
        maxPoints: 40,
        status: 'passed',
        summary:
          '### [*] 10/10 points: All of the package dependencies are supported in the latest version\n\n|Package|Constraint|Compatible|Latest|Notes|\n|:-|:-|:-|:-|:-|\n|[`collection`]|`^1.15.0`|1.19.1|1.19.1||\n|[`meta`]|`^1.3.0`|1.19.0|1.19.0||\n\nTo reproduce run `dart pub outdated --no-dev-dependencies --up-to-date --no-dependency-overrides`.\n\n[`collection`]: https://pub.dev/packages/collection\n[`meta`]: https://pub.dev/packages/meta\n\n### [*] 10/10 points: Package supports latest stable Dart and Flutter SDKs\n\n### [*] 20/20 points: Compatible with dependency constraint lower bounds\n\n`pub downgrade` does not expose any static analysis error.\n',
      },
    ],
  },
  screenshots: [],
  result: {
    repositoryStatus: 'unspecified',
    grantedPoints: 150,
    maxPoints: 160,
  },
  urlProblems: [],
  scores: {
    grantedPoints: 140,
    maxPoints: 160,
  },
}
