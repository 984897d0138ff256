import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../../server/analysis/dart/surface.ts'
import { reportFor, soundPubspec } from '../../support/analysis.ts'

const library = (source: string) => ({ 'lib/sound.dart': `/// A.\nlibrary;\n${source}` })

/** Returns the SDK and platform tags of a package with these files. */
async function supportedTags(files: Record<string, string>, manifest = soundPubspec()) {
  const { tags } = await reportFor({ manifest, files })
  return tags.filter((tag) => /^(?:sdk|platform):/.test(tag)).map((tag) => tag.split(':')[1])
}

/** Returns the notes of a package about its platforms. */
const notesFor = async (...args: Parameters<typeof reportFor>) => (await reportFor(...args)).notes

it('notes nothing about a package that supports all platforms', async () => {
  expect(await supportedTags(library(''))).toEqual(['dart', 'flutter', 'android', 'ios', 'windows', 'linux', 'macos', 'web'])
  expect(await notesFor()).toEqual([])
})

it('reports which import makes a platform unsupported', async () => {
  const files = { ...library("import 'src/files.dart';"), 'lib/src/files.dart': "import 'dart:io';" }
  expect(await supportedTags(files)).not.toContain('web')
  expect(await notesFor({ files })).toEqual([
    expect.stringMatching(/^Platforms that are not supported:\n\n- web: .*`lib\/src\/files\.dart` → `dart:io`\.$/),
  ])
})

it('follows conditional imports', async () => {
  const files = library("import 'dart:io' if (dart.library.js_interop) 'dart:js_interop';")
  expect(await supportedTags(files)).toContain('web')
})

it('notes that the web is supported, but not WebAssembly', async () => {
  const files = library("import 'dart:html';")
  expect(await supportedTags(files)).toEqual(['dart', 'flutter', 'web'])
  expect(await notesFor({ files })).toContainEqual(expect.stringMatching(/cannot be compiled to WebAssembly.*`package:web`/))
})

it('notes that no platform is supported', async () => {
  const files = library("import 'dart:io';\nimport 'dart:js_interop';")
  expect(await notesFor({ files })).toContainEqual(expect.stringMatching(/^No platform is supported/))
})

it('takes the libraries of known dependencies into account', async () => {
  const options = { manifest: soundPubspec('dependencies: {tide: ^1.0.0}'), files: library("import 'package:tide/tide.dart';") }
  const surface = gzipSync(JSON.stringify(surfaceOf(await readApi(new Map([['lib/tide.dart', "import 'dart:io';"]]), 'tide'))))
  const tide = { sdks: [], platforms: null, dependencies: [], surface }
  const { tags } = await reportFor(options, { packages: { tide } })
  expect(tags).toEqual(expect.arrayContaining(['platform:linux', 'sdk:dart']))
  expect(tags).not.toContain('platform:web')
  const unknown = await reportFor(options, { packages: { tide: { ...tide, surface: null } } })
  expect(unknown.tags).toContain('platform:web')
  expect(unknown.unknownPackages).toEqual(['tide'])
})

it.each([
  ['dev_dependencies: {flutter_test: {sdk: flutter}}', ['flutter']],
  ['dev_dependencies: {test: any}', ['dart', 'flutter']],
])('requires the SDKs of dev dependencies: %s', async (dependencies, sdks) => {
  const { tags } = await reportFor({ manifest: soundPubspec(dependencies), files: library('') })
  expect(tags.filter((tag) => tag.startsWith('sdk:'))).toEqual(sdks.map((sdk) => `sdk:${sdk}`))
})

const plugin = (ios: string) =>
  soundPubspec(`dependencies: {flutter: {sdk: flutter}}
flutter:
  plugin:
    platforms:
      android: {package: com.example, pluginClass: Sound}
      ios: ${ios}`)

it('trusts the platforms that a plugin declares, and requires a Swift package', async () => {
  const manifest = plugin('{pluginClass: Sound}')
  expect(await supportedTags({}, manifest)).toEqual(['flutter', 'android', 'ios'])
  const missing = (notes: string[]) => notes.flatMap((note) => /Add `(.*Package\.swift)`/.exec(note)?.[1] ?? [])
  expect(missing(await notesFor({ manifest }))).toEqual(['ios/sound/Package.swift'])
  expect(missing(await notesFor({ manifest, files: { 'ios/sound/Package.swift': '' } }))).toEqual([])
  expect(missing(await notesFor({ manifest: plugin('{pluginClass: Sound, sharedDarwinSource: true}') }))).toEqual([
    'darwin/sound/Package.swift',
  ])
  expect(missing(await notesFor({ manifest: plugin('{default_package: sound_ios}') }))).toEqual([])
})

it.each([
  ["apply plugin: 'kotlin-android'", false],
  ['plugins {\n  id("org.jetbrains.kotlin.android")\n}', false],
  ['android {\n  kotlinOptions {\n  }\n}', false],
  ["apply plugin: 'com.android.library'", true],
])('detects whether %j uses the built-in Kotlin of Gradle: %s', async (gradle, isBuiltIn) => {
  const { tags } = await reportFor({ manifest: plugin('{pluginClass: Sound}'), files: { 'android/build.gradle': gradle } })
  expect(tags.includes('is:built-in-kotlin')).toBe(isBuiltIn)
  expect(tags).toEqual(expect.arrayContaining(['is:plugin', 'is:darwin-legacy-native-build']))
})
