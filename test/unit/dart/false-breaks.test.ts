import { expect, it } from 'vitest'
import { compareSurfaces } from '../../../server/analysis/dart/compare/compare.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { surfaceOf, surfaceSchema } from '../../../server/analysis/dart/surface.ts'

type Sources = string | Record<string, string>

async function surface(sources: Sources) {
  const files = typeof sources === 'string' ? { 'lib/own.dart': sources } : sources
  return surfaceSchema.parse(JSON.parse(JSON.stringify(surfaceOf(await readApi(new Map(Object.entries(files)), 'own')))))
}

/** Returns the breaking changes: removals, and changes with their reasons. */
async function breaks(before: Sources, after: Sources): Promise<string[]> {
  const { removed, changed } = compareSurfaces(await surface(before), await surface(after))
  return [...removed.map(({ name }) => `- ${name}`), ...changed.flatMap(({ name, breaks: all }) => all.map((each) => `${name}: ${each}`))]
}

it.each([
  ['an alias and its type', 'class M {} typedef D = M; void f(D a) {}', 'class M {} typedef D = M; void f(M a) {}'],
  ['a generic alias', 'typedef P<T> = Map<String, T>; P<int> f() => x;', 'typedef P<T> = Map<String, T>; Map<String, int> f() => x;'],
  ['a renamed class with an alias', 'class Old {} Old f() => x;', 'class New {} typedef Old = New; New f() => x;'],
  [
    'a private alias',
    'typedef _C = int Function(Object); void f(_C c) {}',
    'typedef _C = int Function(Object); void f(int Function(Object) c) {}',
  ],
  ['an alias of another package', 'void f(Create<int> c) {}', 'void f(int Function(BuildContext context) c) {}'],
  ['a renamed type of another package', 'Future<LibraryElement2> f() => x;', 'Future<LibraryElement> f() => x;'],
  ['a class that gets a type parameter', 'class A { A({Object? x}); }', 'class A<T> { A({T? x}); T? get y => x; }'],
  [
    'a generic superclass that is parametrized',
    'class B<T> { B(T? x); } class A extends B<Object?> { A(super.x); }',
    'class B<T> { B(T? x); } class A<T> extends B<T> { A(super.x); }',
  ],
  ['a class with generic methods that gets a type parameter', 'class A { T f<T>(T a) => a; }', 'class A<S> { T f<T>(T a) => a; }'],
  [
    'an extension that gets a type parameter',
    'extension E on Object { void f(Object a) {} }',
    'extension E<T extends Object> on T { void f(T a) {} }',
  ],
  ['a subtype that is returned', 'Future<List<int>> f() => x;', 'Future<Uint8List> f() => x;'],
  ['a subtype of its own that is returned', 'class A {} class B extends A {} A f() => x;', 'class A {} class B extends A {} B f() => x;'],
  ['a subtype of a getter', 'EventSink<int> get a => x;', 'StreamSink<int> get a => x;'],
  ['a parameter with a supertype', 'void f(List<int> a) {}', 'void f(Iterable<num> a) {}'],
  ['FutureOr', 'void f(int Function() a) {}', 'void f(FutureOr<int> Function() a) {}'],
  ['a callback whose result is not used', 'void f(Function() a) {}', 'void f(FutureOr<void> Function() a) {}'],
  ['omitted type arguments', 'void f(Map a) {}', 'void f(Map<Object?, Object?> a) {}'],
  ['a map of dynamic values', 'void f(Map<String, dynamic> a) {}', 'void f(Map<String, Object?> a) {}'],
  [
    'a callback with more parameters',
    'void f(void Function(int Function(String)) a) {}',
    'void f(void Function(int Function(String, {int? b})) a) {}',
  ],
  ['inferred type arguments', 'Future f(Function() a) => x;', 'Future<T> f<T>(FutureOr<T> Function() a) => x;'],
  ['the operand of ==', 'class A { bool operator ==(dynamic a) => x; }', 'class A { bool operator ==(Object a) => x; }'],
  [
    'a private named parameter',
    'class A { final int? svg; A({this.svg}); }',
    'class A { int? get svg => x; final int? _svg; A({this._svg}); }',
  ],
  [
    'a supertype that was never exported',
    { 'lib/own.dart': "export 'src/a.dart' show A;", 'lib/src/a.dart': 'class A implements N {} class N {}' },
    'class A {}',
  ],
  ['a name that a dependency now exports', 'class A {} class B {}', "export 'package:x/x.dart' show A; class B {}"],
  [
    'a name that a dependency exports through a file of the package',
    'class A {}',
    { 'lib/own.dart': "export 'src/a.dart';", 'lib/src/a.dart': "export 'package:x/x.dart';" },
  ],
  ['an export of another library of a dependency', "export 'package:x/src/a.dart';", "export 'package:x/x.dart';"],
  ['a class that became an alias', 'class A {} class B {}', 'class B {} typedef A = B;'],
])('does not report a breaking change for %s', async (_, before: Sources, after: Sources) => {
  expect(await breaks(before, after)).toEqual([])
})

it.each([
  [
    'class M {} typedef D = M; void f(D a) {}',
    'class M {} typedef D = M; void f(int a) {}',
    ['f: the parameter `a` is a `int` in place of a `D`'],
  ],
  ['Future<Uint8List> f() => x;', 'Future<List<int>> f() => x;', ['f: it returns `Future<List<int>>` in place of `Future<Uint8List>`']],
  ['void f(Iterable<num> a) {}', 'void f(List<num> a) {}', ['f: the parameter `a` is a `List<num>` in place of a `Iterable<num>`']],
  [
    'Map<String, dynamic> f() => x;',
    'Map<String, Object?> f() => x;',
    ['f: it returns `Map<String, Object?>` in place of `Map<String, dynamic>`'],
  ],
  ['Foo f() => x;', 'Foo? f() => x;', ['f: it returns `Foo?` in place of `Foo`']],
  ['void f<T>(T a) {}', 'void f<T>(int a) {}', ['f: the parameter `a` is a `int` in place of a `T`']],
  [
    'void f((int, {String b}) a) {}',
    'void f((int, {int b}) a) {}',
    ['f: the parameter `a` is a `(int, {int b})` in place of a `(int, {String b})`'],
  ],
  ['class A { A({int? svg}); }', 'class A { final int? _other; A({this._other}); }', ['A.new: the parameter `svg` was removed']],
  ["export 'package:x/x.dart' show A, B;", "export 'package:x/x.dart' show A;", ['- B']],
  ['class A {} class B {}', "export 'package:x/x.dart' show A;", ['- B']],
  ['class A implements Foreign {}', 'class A {}', ['A: it is no longer a `Foreign`']],
])('reports a breaking change: %s, %s', async (before, after, expected) => {
  expect(await breaks(before, after)).toEqual(expected)
})

it('reports a declaration that moved to a dependency as changed', async () => {
  const { removed, changed } = compareSurfaces(await surface('class A {}'), await surface("export 'package:x/x.dart' show A;"))
  expect({ removed, changed }).toEqual({
    removed: [],
    changed: [{ library: 'own.dart', kind: 'class', name: 'A', before: 'class A', after: "export 'package:x/x.dart'", breaks: [] }],
  })
})

it('finds members that a class no longer inherits from an unexported class', async () => {
  const files = (members: string) => ({
    'lib/own.dart': "export 'src/a.dart' show A;",
    'lib/src/a.dart': `class A extends Base {} class Base { ${members} }`,
  })
  expect(await breaks(files('int a() => 1; int b() => 1;'), files('int a() => 1;'))).toEqual(['- A.b'])
})

it('stops comparing types that are too complex', async () => {
  const chain = (name: string) =>
    Array.from({ length: 40 }, (_, at) => `typedef ${name}${at + 1} = Map<${name}${at}, ${name}${at}>;`).join('\n')
  const code = `${chain('A')}\n${chain('B')}\ntypedef A0 = int; typedef B0 = int;`
  expect(await breaks(`${code} A40 f() => x;`, `${code} B40 f() => x;`)).toEqual([])
})
