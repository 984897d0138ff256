import { describe, expect, it } from 'vitest'
import { compareSurfaces } from '../../../server/analysis/dart/compare/compare.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { surfaceOf, surfaceSchema } from '../../../server/analysis/dart/surface.ts'
import { judgeVersion } from '../../../server/analysis/dart/changes.ts'

type Sources = string | Record<string, string>

async function surface(sources: Sources) {
  const files = typeof sources === 'string' ? { 'lib/own.dart': sources } : sources
  return surfaceSchema.parse(JSON.parse(JSON.stringify(surfaceOf(await readApi(new Map(Object.entries(files)), 'own')))))
}

const changes = async (before: Sources, after: Sources) => compareSurfaces(await surface(before), await surface(after))

/** Summarizes additions, removals and changes by name, with the reasons why a change is breaking. */
async function summarizeChanges(before: Sources, after: Sources): Promise<string[]> {
  const { added, removed, changed } = await changes(before, after)
  return [
    ...added.map(({ name }) => `+ ${name}`),
    ...removed.map(({ name }) => `- ${name}`),
    ...changed.map(({ name, breaks }) => (breaks.length > 0 ? `! ${name}: ${breaks.join(', ')}` : `~ ${name}`)),
  ]
}

describe('comparison of two versions of an API', () => {
  it('finds different declarations, members and libraries', async () => {
    const before = { 'lib/own.dart': 'class A { void a() {} A.named(); } int gone() => 1;', 'lib/old.dart': 'class Old {}' }
    const after = { 'lib/own.dart': 'class A { void b() {} } class New {}', 'lib/new.dart': '' }
    expect(await changes(before, after)).toEqual({
      added: [
        { library: 'new.dart', kind: 'library', name: 'new.dart', signature: 'new.dart' },
        { library: 'own.dart', kind: 'constructor', name: 'A.new', signature: 'A()' },
        { library: 'own.dart', kind: 'method', name: 'A.b', signature: 'void b()' },
        { library: 'own.dart', kind: 'class', name: 'New', signature: 'class New' },
      ],
      removed: [
        { library: 'old.dart', kind: 'library', name: 'old.dart', signature: 'old.dart' },
        { library: 'own.dart', kind: 'method', name: 'A.a', signature: 'void a()' },
        { library: 'own.dart', kind: 'constructor', name: 'A.named', signature: 'A.named()' },
        { library: 'own.dart', kind: 'function', name: 'gone', signature: 'int gone()' },
      ],
      changed: [],
    })
  })

  it('ignores differences in layout, private names, bodies and documentation', async () => {
    const before = 'class A<T> { final int _x = 1; T f(T a, {int b = 1}) => a; } typedef F<T> = T Function(T);'
    const after =
      '/// New.\nclass A<E>\n{ @override final int _y = 2;\n E f(E a, {int b = 1,}) { return a; } }\ntypedef F<S> = S Function(S);\n'
    expect((await summarizeChanges(before, after)).filter((line) => !line.startsWith('~'))).toEqual([])
    expect(await summarizeChanges('import "dart:ui" as ui; ui.Color c() => x;', 'import "dart:ui"; Color c() => x;')).toEqual([])
    const renumbered = (prefix: string) =>
      `class A extends ${prefix}.B { List<${prefix}.C> a(${prefix}.D b, {${prefix}.E? c = ${prefix}.E.f}) => x; }`
    expect(await summarizeChanges(renumbered('_i1'), renumbered('_i2'))).toEqual([])
  })

  it.each([
    ['void f(int a) {}', 'void f(int a, [int? b]) {}', '~ f'],
    ['void f(int a) {}', 'void f(int a, {int b = 1}) {}', '~ f'],
    ['void f(int a) {}', 'void f(int other) {}', '~ f'],
    ['void f(int a) {}', 'int f(int? a) => 1;', '~ f'],
    ['int? f() => 1;', 'int f() => 1;', '~ f'],
    ['void f({required int a}) {}', 'void f({int a = 1}) {}', '~ f'],
    ['void f(int a) {}', 'void f(int a, int b) {}', '! f: the parameter `b` is required'],
    ['void f(int a) {}', 'void f(int a, {required int b}) {}', '! f: the parameter `b` is required'],
    ['void f({int? a}) {}', 'void f({required int a}) {}', '! f: the parameter `a` is required'],
    ['void f(int a, {int? b}) {}', 'void f(int a) {}', '! f: the parameter `b` was removed'],
    ['void f({int? a}) {}', 'void f({int? renamed}) {}', '! f: the parameter `a` was removed'],
    ['void f(List<int> a) {}', 'void f(List<String> a) {}', '! f: the parameter `a` is a `List<String>` in place of a `List<int>`'],
    ['void f(void a(int b)) {}', 'void f(void Function(int b) a) {}', '~ f'],
    ['void f(int Function(int a, {int b}) c) {}', 'void f(int Function(int z, {int b}) c) {}', '~ f'],
    ['int f() => 1;', 'Future<int> f() async => 1;', '! f: it returns `Future<int>` in place of `int`'],
    ['T f<T>(T a) => a;', 'S f<S>(S a) => a;', '~ f'],
    ['T f<T>(T a) => a;', 'T f<T extends num>(T a) => a;', '! f: the bounds of its type parameters differ'],
    ['int f() => 1;', 'int get f => 1;', '! f: it is a getter in place of a function'],
    ['int x = 1;', 'int get x => 1; set x(int v) {}', '~ x'],
    ['int x = 1;', 'final int x = 1;', '! x: it can no longer be set'],
    ['const int x = 1;', 'final int x = 1;', '! x: it is no longer constant'],
    ['const x = 1;', 'const x = "";', '! x: its type is `String` in place of `int`'],
    ['final int x = 1;', 'final String x = "";', '! x: its type is `String` in place of `int`'],
    ['class A {}', 'final class A {}', '! A: it is now `final`'],
    ['class A {}', 'mixin class A {}', '~ A'],
    ['class A {}', 'enum A { a }', '! A: it is an enum in place of a class'],
    ['class A implements B {}', 'class A {}', '! A: it is no longer a `B`'],
    ['class A implements B {}', 'class A extends C {} class C implements B {}', '~ A'],
    ['extension type A(int a) {}', 'extension type A(String a) {}', '! A: it represents `String`'],
  ])('compares %s → %s', async (before, after, expected) => {
    expect(await summarizeChanges(before, after)).toContain(expected)
  })

  it.each([
    ['class A {}', 'class A { A(); }', []],
    ['class A { A(); }', 'class A { int x() => 1; }', ['+ A.x']],
    ['class A {}', 'class A { A({int? x}); }', ['~ A.new']],
    ['class A {}', 'class A { A(int x); }', ['! A.new: the parameter `x` is required']],
    ['class A {}', 'class A { A.named(); }', ['+ A.named', '- A.new']],
    ['class A {}', 'class A { A._(); }', ['- A.new']],
    ['class A { A._(); }', 'class A {}', ['+ A.new']],
    ['abstract interface class A {}', 'abstract interface class A { A._(); }', []],
    ['class A { A._(); }', 'sealed class A {}', ['! A: it is now `sealed`']],
    ['class A = _B with _M; class _B {} mixin _M {}', 'class A { A.named(); }', ['+ A.named', '~ A']],
  ])('includes the default constructor of a class: %s, %s', async (before, after, expected) => {
    expect(await summarizeChanges(before, after)).toEqual(expected)
  })

  it('does not report a removed default constructor if an older analysis did not record it', async () => {
    const [known, later] = [await surface('class A {}'), await surface('class A { A.named(); }')]
    const unknown = { ...known, declarations: known.declarations.map((each) => ({ ...each, hasDefaultConstructor: undefined })) }
    expect(compareSurfaces(unknown, later).removed).toEqual([])
    expect(compareSurfaces(known, later).removed).toHaveLength(1)
  })

  it('does not report members that are now inherited or implicit as removed', async () => {
    const before = 'class A { A(); int m() => 1; @override String toString() => ""; } class B {}'
    expect(await summarizeChanges(before, 'class A extends B {} class B { int m() => 1; }')).toEqual(['+ B.m', '~ A'])
    expect(await summarizeChanges(before, 'class A extends _C {} class _C { int m() => 1; } class B {}')).toEqual(['~ A'])
    expect(await summarizeChanges(before, 'class A { A.other(); } class B {}')).toEqual(['+ A.other', '- A.new', '- A.m'])
  })

  it('reports declarations of several libraries once, and exports of other packages', async () => {
    const src = (code: string) => ({
      'lib/own.dart': "export 'src/a.dart';",
      'lib/all.dart': "export 'src/a.dart'; export 'package:x/x.dart';",
      'lib/src/a.dart': code,
    })
    expect(await summarizeChanges(src('int f() => 1; int g() => 1;'), src('int f(int a) => 1;'))).toEqual([
      '- g',
      '! f: the parameter `a` is required',
    ])
    expect(await summarizeChanges({ 'lib/a.dart': "export 'package:x/x.dart';" }, { 'lib/a.dart': '' })).toEqual(['- package:x/x.dart'])
  })
})

describe('version number', () => {
  const none = { added: [], removed: [], changed: [] }
  const one = { library: 'own.dart', kind: 'class', name: 'A', signature: 'class A' }
  const breaking = {
    added: [one],
    removed: [one, one],
    changed: [
      { ...one, before: 'a', after: 'b', breaks: ['x'] },
      { ...one, before: 'a', after: 'b', breaks: [] },
    ],
  }
  const adding = { ...none, added: [one] }

  it.each([
    ['1.2.3', '2.0.0', breaking, null],
    ['1.2.3', '1.3.0', breaking, '2 removals and 1 breaking change in a minor release'],
    ['1.2.3', '1.2.4', { ...none, removed: [one] }, '1 removal in a patch release'],
    ['1.2.3', '1.3.0', adding, null],
    ['1.2.3', '1.2.4', adding, '1 addition in a patch release'],
    ['1.2.3', '1.2.4', none, null],
    ['0.2.3', '0.3.0', breaking, null],
    ['0.2.3', '0.2.4', breaking, '2 removals and 1 breaking change in a patch release'],
    ['0.2.3', '0.2.4', adding, null],
    ['0.2.3', '0.2.3+1', adding, '1 addition in a release that differs by its build number'],
    ['1.0.0', '1.0.0+1', none, null],
    ['0.9.0', '1.0.0-dev.1', breaking, null],
    ['1.0.0', '1.1.0-dev.1', breaking, '2 removals and 1 breaking change in a minor release'],
    ['2.0.0-dev.1', '2.0.0-dev.2', breaking, null],
    ['2.0.0-dev.2', '2.0.0', breaking, null],
  ])('is judged from %s → %s', (earlier, later, found, sentence) => {
    expect(judgeVersion(earlier, later, found)).toMatchObject({ isHonest: sentence === null, sentence })
  })

  it('is not judged against a later version', () => {
    expect(judgeVersion('2.0.0', '1.9.1', breaking)).toBeNull()
  })
})
