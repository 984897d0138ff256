/** Flutter's own code imports what it likes, and chooses what it uses. */
const flutter = ['dart:ui']

/** What the libraries of packages import that come with Flutter or wrap one library of Dart's. */
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
