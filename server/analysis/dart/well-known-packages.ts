/** Imports assumed for Flutter packages: their implementation selects the platform libraries itself, so only `dart:ui` counts. */
const flutter = ['dart:ui']

/** Assumed imports of packages that are part of Flutter or wrap a single Dart library. */
export const wellKnownImports: ReadonlyMap<string, readonly string[]> = new Map([
  ['flutter', flutter],
  ['flutter_driver', flutter],
  ['flutter_localizations', flutter],
  ['flutter_test', flutter],
  ['integration_test', flutter],
  ['flutter_web_plugins', ['dart:ui', 'dart:ui_web', 'dart:js_interop']],
  ['web', ['dart:js_interop', 'dart:js_interop_unsafe']],
  ['js', ['dart:js']],
  ['ffi', ['dart:ffi']],
])
