import type { Runtime } from './reachable-libraries.ts'

const everywhere = ['async', 'collection', 'convert', 'core', 'developer', 'math', 'typed_data', '_internal']
const native = ['ffi', 'io', 'isolate']
const browser = [
  'html',
  'html_common',
  'indexed_db',
  'js',
  'js_interop',
  'js_interop_unsafe',
  'js_util',
  'svg',
  'web_audio',
  'web_gl',
  'web_sql',
  '_js_annotations',
]

const runtime = (...libraries: string[][]): Runtime => new Set(libraries.flat())

/** The runtimes of Dart code and the `dart:` libraries they provide. Source: pana, `lib/src/tag/_specs.dart`. */
export const runtimes = {
  nativeAot: runtime(everywhere, native, ['cli', 'nativewrappers']),
  nativeJit: runtime(everywhere, native, ['cli', 'mirrors', 'nativewrappers']),
  web: runtime(everywhere, browser),
  wasm: runtime(everywhere, ['ui', 'ui_web', 'js_interop', 'js_interop_unsafe']),
  flutterNative: runtime(everywhere, native, ['ui']),
  flutterWeb: runtime(everywhere, browser, ['ui', 'ui_web']),
  /** Union of all runtimes without Flutter. */
  anyDart: runtime(everywhere, native, browser, ['cli', 'mirrors', 'nativewrappers']),
  /** Union of all runtimes with Flutter. */
  anyFlutter: runtime(everywhere, native, browser, ['cli', 'ui', 'ui_web']),
}

export const platformNames = ['android', 'ios', 'windows', 'linux', 'macos', 'web'] as const
export type Platform = (typeof platformNames)[number]

/** The runtimes of Dart programs and Flutter apps on each platform. */
export const platforms: Record<Platform, { dart: Runtime | null; flutter: Runtime }> = {
  android: { dart: runtimes.nativeAot, flutter: runtimes.flutterNative },
  ios: { dart: null, flutter: runtimes.flutterNative },
  windows: { dart: runtimes.nativeJit, flutter: runtimes.flutterNative },
  linux: { dart: runtimes.nativeJit, flutter: runtimes.flutterNative },
  macos: { dart: runtimes.nativeJit, flutter: runtimes.flutterNative },
  web: { dart: runtimes.web, flutter: runtimes.flutterWeb },
}
