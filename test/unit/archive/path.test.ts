import { describe, expect, it } from 'vitest'
import { plainPath } from '../../../server/registry/archive/path.ts'

describe('path of an archive', () => {
  it.each([
    ['con', '"con", which has a name that is reserved on Windows'],
    ['lib/AUX.dart', 'reserved'],
    ['nul.tar.gz', 'reserved'],
    ['com1/a.dart', 'reserved'],
    ['lib/lpt².txt', String.raw`"lib/lpt\u{b2}.txt", which has a name that is reserved`],
    ['CONIN$', 'reserved'],
    ['lib/con .txt', 'reserved'],
    ['lib/x.', '"lib/x.", which has a name that ends with a dot or a space'],
    ['lib./x', 'ends with a dot'],
    ['lib/...', 'ends with a dot'],
    ['lib/x ', 'ends with a dot or a space'],
    ['lib/x\u00a0', String.raw`"lib/x\u{a0}", which`],
    ['lib/a:b.dart', 'Windows cannot store'],
    ['lib/what?.dart', 'Windows cannot store'],
    ['lib/<a>|"b"*', 'Windows cannot store'],
    ['lib/\u202egnp.dart', String.raw`"lib/\u{202e}gnp.dart", which has an invisible character`],
    ['lib/\u2067a', String.raw`\u{2067}`],
    ['lib/a\u200eb', String.raw`\u{200e}`],
    ['lib/a\u200bb', String.raw`\u{200b}`],
    ['lib/a\u200db', String.raw`\u{200d}`],
    ['lib/\u200cb', String.raw`\u{200c}`],
    ['\ufefflib/a', String.raw`\u{feff}`],
    ['lib/a\u00adb', String.raw`\u{ad}`],
    ['lib/\u3164', String.raw`\u{3164}`],
    ['lib/\u{e0041}', String.raw`\u{e0041}`],
    ['lib/a\u2028b', String.raw`\u{2028}`],
    ['lib/a\u0007b', String.raw`"lib/a\u{7}b", which has control characters`],
  ])('is rejected: %j', (path, message) => {
    expect(() => plainPath(path)).toThrow(message)
  })

  it.each([
    'lib/console.dart',
    'lib/com10.dart',
    'lib/.gitkeep',
    'lib/auxiliary/nullable.dart',
    'a b/c (1) [2] {3} #4 $5 &6 +7 ;8 =9 @.txt',
    'assets/größe-日本語-Ελληνικά-Русский.json',
    'assets/می‌خواهم.json',
    'assets/क्‍ष.json',
    'assets/👨‍👩‍👧‍👦.png',
    'assets/❤️.png',
    'assets/葛󠄀.txt',
  ])('is accepted unchanged: %s', (path) => {
    expect(plainPath(path)).toBe(path)
  })
})
