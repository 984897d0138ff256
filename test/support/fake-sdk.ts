import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { recordedReport } from './recorded-report.ts'

/** Returns a shell script that imitates the `dart` commands the server uses: `--version` and `pub global activate pana`. */
export const fakeDart = (version: string): string => `#!/bin/sh
set -eu
case "$*" in
--version) echo 'Dart SDK version: ${version} (stable) (Tue Nov 3 09:17:02 2026 +0000) on "linux_x64"' ;;
"pub global activate pana"*)
  : "\${PUB_CACHE:?}"
  mkdir -p "$PUB_CACHE/bin" "$PUB_CACHE/global_packages/pana/bin"
  cat > "$PUB_CACHE/bin/pana" <<'PANA'
${fakePana(version)}PANA
  chmod +x "$PUB_CACHE/bin/pana"
  echo 'Activated pana 0.23.18.'
  ;;
*) echo "dart: $* is not known" >&2; exit 64 ;;
esac
`

/**
 * Returns a shell script that imitates pana: it prints a recorded report as JSON, logs JSON to stderr and writes the output of `dart doc`. It runs
 * the package's `tool/during_analysis.sh` first and `tool/after_analysis.sh` last, to simulate packages that execute code. Their output is logged.
 * `tool/report.json` replaces the recorded report.
 */
export const fakePana = (version: string): string => `#!/bin/sh
set -eu
docs=; package=
while [ $# -gt 0 ]; do
  case "$1" in
  --dartdoc-output) docs=$2; shift ;;
  --json) ;;
  --*) shift ;;
  *) package=$1 ;;
  esac
  shift
done
field() { sed -n "s/^$1: *//p" "$package/pubspec.yaml" | head -n 1; }
echo '{"logName":"pana","level":"INFO","message":"Running \`dart pub get\`..."}' >&2
if [ -f "$package/tool/during_analysis.sh" ]; then sh "$package/tool/during_analysis.sh" >&2 || echo "exit code $?" >&2; fi
name=$(field name)
mkdir -p "$docs/$name"
main='<div id="dartdoc-main-content">'
echo "<html><body>$main<h1>$name</h1><script>alert(1)</script></div></body></html>" > "$docs/index.html"
echo "<html><body>$main<h1>$name library</h1></div></body></html>" > "$docs/$name/$name-library.html"
echo '[]' > "$docs/index.json"
if [ -f "$package/tool/after_analysis.sh" ]; then sh "$package/tool/after_analysis.sh" >&2; fi
if [ -f "$package/tool/report.json" ]; then exec cat "$package/tool/report.json"; fi
sed "s/{{name}}/$name/; s/{{version}}/$(field version)/; s/{{sdk}}/${version}/" <<'REPORT'
${JSON.stringify(recordedReport, null, 1)}
REPORT
`

/** Creates the files of an installed SDK with pana activated. */
export function installFakeSdk(
  folder: string,
  { kind = 'dart', version = '3.11.0' }: { kind?: 'dart' | 'flutter'; version?: string } = {},
) {
  const path = join(folder, 'sdk')
  const dart = join(path, ...(kind === 'flutter' ? ['bin', 'cache', 'dart-sdk'] : []), 'bin', 'dart')
  const pubCache = join(folder, 'pub-cache')
  const panaPath = join(pubCache, 'bin', 'pana')
  const mark = join(folder, 'ready')
  writeProgram(dart, fakeDart(version))
  writeProgram(panaPath, fakePana(version))
  writeFileSync(mark, '')
  return { kind, version, path, dart, pubCache, panaPath, mark }
}

function writeProgram(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, 0o755)
}
