import { describe, expect, it } from 'vitest'
import { compareSurfaces } from '../../../server/analysis/dart/compare/compare.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { type Surface, surfaceOf } from '../../../server/analysis/dart/surface.ts'

const read = async (code: string): Promise<Surface> => {
  const api = await readApi(new Map([['lib/own.dart', code]]), 'own')
  expect(api.unclear, code).toEqual([])
  return surfaceOf(api)
}

/** Returns the declarations as `signature`, with the signatures of their members, sorted by name. */
const outline = ({ declarations, hidden = [] }: Surface): string[] =>
  [...declarations, ...hidden].flatMap(({ signature, members = [], hasDefaultConstructor }) => [
    signature,
    ...members.map((member) => `  ${member.kind}: ${member.signature}`).toSorted(),
    ...(hasDefaultConstructor === undefined ? [] : [`  default constructor: ${hasDefaultConstructor}`]),
  ])

/**
 * Features that change how declarations are written, by the version of Dart that introduced them: code that uses the feature, and its public API.
 * Add a row for each new version of Dart. Source: CHANGELOG.md of dart-lang/sdk, sections "Language". 3.1, 3.4, 3.5, 3.9 and 3.11 changed no syntax of
 * declarations.
 */
const features: [version: string, feature: string, code: string, api: string[]][] = [
  ['3.0', 'records', '(int, {String name}) f((int, int) a) => (1, name: "");', ['(int, {String name}) f((int, int) a)']],
  [
    '3.0',
    'patterns',
    'int f(Object o) => switch (o) { int(isEven: true) && var x when x > 1 => x, [_, ...] => 0, _ => 1 };',
    ['int f(Object o)'],
  ],
  [
    '3.0',
    'class modifiers',
    'abstract base mixin class A {} sealed class B {} interface class C {} final class D {} base mixin E {}',
    [
      'abstract base mixin class A',
      '  default constructor: true',
      'sealed class B',
      '  default constructor: false',
      'interface class C',
      '  default constructor: true',
      'final class D',
      '  default constructor: true',
      'base mixin E',
    ],
  ],
  [
    '3.2',
    'promotion of private fields',
    'class A { final int? _a; A(this._a); int f() { if (_a != null) return _a; return 0; } }',
    ['class A', '  constructor: A(int? _a)', '  method: int f()', '  default constructor: false'],
  ],
  [
    '3.3',
    'extension types',
    'extension type const Id(int value) implements int { Id.zero() : value = 0; }',
    [
      'extension type const Id(int value) implements int',
      '  constructor: Id.zero()',
      '  constructor: const Id(int value)',
      '  field: final int value',
    ],
  ],
  ['3.6', 'digit separators', 'const a = 1_000_000; int f([int b = 0xFFFF_FFFF]) => b;', ['const int a', 'int f([int b = 0xFFFF_FFFF])']],
  ['3.7', 'wildcard variables', 'int f(int _, int _) => 1;', ['int f(int _, int _)']],
  [
    '3.8',
    'null-aware elements',
    'List<int> f(int? a) => [?a]; const b = <String, int>{?x: 1};',
    ['List<int> f(int? a)', 'const Map<String, int> b'],
  ],
  [
    '3.10',
    'dot shorthands',
    'enum E { a, b } E f({E e = .a}) => .b; class A { final E e = .a; final E g; A({this.g = .b}); }',
    [
      'enum E',
      '  enum value: a',
      '  enum value: b',
      'E f({E e = .a})',
      'class A',
      '  constructor: A({E g = .b})',
      '  field: final E e',
      '  field: final E g',
      '  default constructor: false',
    ],
  ],
  [
    '3.12',
    'private named parameters',
    'class A { final int _a; A({required this._a}); }',
    ['class A', '  constructor: A({required int a})', '  default constructor: false'],
  ],
]

it.each(features)('reads the declarations of Dart %s: %s', async (_version, _feature, code, api) => {
  expect(outline(await read(code))).toEqual(api)
})

/** Forms of Dart 3.13, and classes with the same meaning in the syntax before. */
const forms: [form: string, code: string, classic: string][] = [
  ['declaring parameters', 'class Point(var int x, var int y);', 'class Point { int x; int y; Point(this.x, this.y); }'],
  [
    'final and const',
    'class const Point(final int x, final int y);',
    'class Point { final int x; final int y; const Point(this.x, this.y); }',
  ],
  ['no parameters', 'class const Origin();', 'class Origin { const Origin(); }'],
  ['private name', 'class const Point._(final int x);', 'class Point { final int x; const Point._(this.x); }'],
  ['named', 'class Point.at(final int x) {}', 'class Point { final int x; Point.at(this.x); }'],
  ['new', 'class Point.new(final int x);', 'class Point { final int x; Point(this.x); }'],
  ['optional', 'class Point(var int x, [var int y = 0]);', 'class Point { int x; int y; Point(this.x, [this.y = 0]); }'],
  [
    'optional without a type',
    'class Point(var int x, [var y = 0, final z = ""]);',
    'class Point { int x; int y; final String z; Point(this.x, [this.y = 0, this.z = ""]); }',
  ],
  [
    'without a type',
    'class Box(final value, {var other = null});',
    'class Box { final Object? value; Object? other; Box(this.value, {this.other = null}); }',
  ],
  [
    'required',
    'class Point(var int x, {required var int y, final int? z});',
    'class Point { int x; int y; final int? z; Point(this.x, {required this.y, this.z}); }',
  ],
  ['private', 'class Point({required final int _x});', 'class Point { final int _x; Point({required this._x}); }'],
  ['covariant', 'class Point(covariant var num x);', 'class Point { covariant num x; Point(this.x); }'],
  [
    'function types',
    'class A(final int f(int a), final void Function(int)? g, [final (int, {int b})? h]);',
    'class A { final int Function(int a) f; final void Function(int)? g; final (int, {int b})? h; A(this.f, this.g, [this.h]); }',
  ],
  [
    'generic values',
    'class A({final Map<String, List<int>> a = const {"a": [1, 2]}, final b = const <int>[]});',
    'class A { final Map<String, List<int>> a; final List<int> b; A({this.a = const {"a": [1, 2]}, this.b = const <int>[]}); }',
  ],
  [
    'header',
    'class const D<T extends Map<String, int>>.named(final int x, [final int y = 0,]) extends A with M implements B, C;',
    'class D<T extends Map<String, int>> extends A with M implements B, C { final int x; final int y; const D.named(this.x, [this.y = 0]); }',
  ],
  [
    'initializing and super parameters',
    'class A(final int a); class B(super.a, this.b, int c) extends A { late int b; }',
    'class A { final int a; A(this.a); } class B extends A { late int b; B(super.a, this.b, int c); }',
  ],
  ['assertions', 'class Point(var int x) { this : assert(x >= 0); }', 'class Point { int x; Point(this.x) : assert(x >= 0); }'],
  [
    'body',
    'class Point(var int x) { this : assert(x >= 0), super() { print("{"); } int f() => x; }',
    'class Point { int x; Point(this.x) : assert(x >= 0), super() { print("{"); } int f() => x; }',
  ],
  ['body without initializers', 'class Point(var int x) { this { print(x); } }', 'class Point { int x; Point(this.x) { print(x); } }'],
  [
    'named super constructor',
    'class const A.some(final int x); class B(super.x) extends A { this : super.some(); }',
    'class A { final int x; const A.some(this.x); } class B extends A { B(super.x) : super.some(); }',
  ],
  [
    'field initializers',
    'class Delta(final int x, int delta) { final int y = x + delta; }',
    'class Delta { final int x; final int y; Delta(this.x, int delta) : y = x + delta; }',
  ],
  [
    'modifiers',
    'abstract base class A(final int x); sealed class B(); mixin class C(); final class D(var int x);',
    'abstract base class A { final int x; A(this.x); } sealed class B { B(); } mixin class C { C(); } final class D { int x; D(this.x); }',
  ],
  [
    'annotations and comments',
    '@immutable class A(/* a */ @deprecated final int x, // b, c\n {/// The y.\n @Foo("a", [1]) required final int y /* d */});',
    '@immutable class A { @deprecated final int x; final int y; A(this.x, {required this.y}); }',
  ],
  ['enums', 'enum E(final int x) { a(1), b(2); int f() => x; }', 'enum E { a(1), b(2); final int x; const E(this.x); int f() => x; }'],
  [
    'const enums',
    'enum const E<T>.of({required final T x}) implements A { a.of(x: 1), b.of(x: 2) }',
    'enum E<T> implements A { a.of(x: 1), b.of(x: 2); final T x; const E.of({required this.x}); }',
  ],
  [
    'empty bodies',
    'class A; abstract class B implements C; mixin M on A; enum E; extension X on int; extension type I(int i);',
    'class A {} abstract class B implements C {} mixin M on A {} enum E {} extension X on int {} extension type I(int i) {}',
  ],
  ['extension types', 'extension type const E.name(final int x);', 'extension type const E.name(int x) {}'],
  [
    'final parameters',
    'class A { A(int x); void f(String a, {required int b}) {} } int g(x, [int? y]) => 1;',
    'class A { A(final int x); void f(final String a, {required final int b}) {} } int g(var x, [final int? y]) => 1;',
  ],
  ['new', 'class L { new() {} new name() {} }', 'class L { L() {} L.name() {} }'],
  [
    'const new',
    'class L { final int x; const new(this.x); const new name(): x = 1; }',
    'class L { final int x; const L(this.x); const L.name() : x = 1; }',
  ],
  [
    'redirecting',
    'class L { new(): this.other(); new name(): this(); new other() : x = 0, y = 0; int x, y; }',
    'class L { L() : this.other(); L.name() : this(); L.other() : x = 0, y = 0; int x, y; }',
  ],
  [
    'factory',
    'class L { factory() { return L.a(); } factory name(L other) => other; new a(); }',
    'class L { factory L() { return L.a(); } factory L.name(L other) => other; L.a(); }',
  ],
  [
    'redirecting factory',
    'class L { factory() = D; factory name() = D.a; const factory c() = D; const new _(); }',
    'class L { factory L() = D; factory L.name() = D.a; const factory L.c() = D; const L._(); }',
  ],
  [
    'factory with the class name',
    'class L { factory L() => L._(); const factory L.b() = D; new _(); }',
    'class L { factory L() => L._(); const factory L.b() = D; L._(); }',
  ],
  ['const factory', 'class L { const factory() = D; external new a(); }', 'class L { const factory L() = D; external L.a(); }'],
  [
    'constructors of extension types',
    'extension type E(int i) { new zero() : i = 0; factory of(int x) => E(x); }',
    'extension type E(int i) { E.zero() : i = 0; factory E.of(int x) => E(x); }',
  ],
  ['constructors of enums', 'enum E { a; const new(); factory first() => a; }', 'enum E { a; const E(); factory E.first() => a; }'],
]

describe('Dart 3.13: primary constructors and abbreviations', () => {
  it.each(forms)('has the same public API as the syntax before: %s', async (_form, code, classic) => {
    const [short, long] = [await read(code), await read(classic)]
    expect(outline(short)).toEqual(outline(long))
    const none = { added: [], removed: [], changed: [] }
    expect([compareSurfaces(long, short), compareSurfaces(short, long)]).toEqual([none, none])
  })

  it('documents the fields, and the constructor with the comment of its part in the body', async () => {
    const code = `/// A point.
class const Point(
  /// From the left.
  final int x, {
  @Deprecated('Use x.') required final int y,
}) {
  /// Makes a point.
  @deprecated
  this : assert(x > 0);
}`
    const { libraries } = await readApi(new Map([['lib/own.dart', code]]), 'own')
    const [point] = libraries[0]?.declarations ?? []
    expect(point).toMatchObject({ name: 'Point', signature: 'class Point', doc: 'A point.' })
    expect(point?.members.map(({ kind, name, doc, deprecated, source }) => [kind, name, doc, deprecated, source.line])).toEqual([
      ['constructor', 'Point', 'Makes a point.', '', 2],
      ['field', 'x', 'From the left.', null, 4],
      ['field', 'y', null, 'Use x.', 5],
    ])
  })

  it.each([
    [
      'a method that returns a type called like a keyword',
      'class A { Factory factory2() => f(); int get factory => 1; void Function() newName() => f; }',
      ['int get factory', 'Factory factory2()', 'void Function() newName()'],
    ],
    ['unfinished parameters', 'class A(final int x', []],
    ['no name', 'class (int x);', []],
    ['empty parameters between commas', 'class A(,final int x,,);', ['final int x']],
  ])('reads other code as before: %s', async (_what, code, members) => {
    const { libraries } = await readApi(new Map([['lib/own.dart', code]]), 'own')
    const found = libraries[0]?.declarations.flatMap((each) => each.members).map(({ signature }) => signature)
    expect(found?.filter((signature) => !signature.startsWith('A('))).toEqual(expect.arrayContaining(members))
  })
})

const builtIn =
  'abstract as covariant deferred dynamic export extension external factory Function get implements import interface late library mixin operator part required set static typedef'

it.each(builtIn.split(' '))('reads variables with the built-in identifier %s as their name', async (name) => {
  const fields = [`static const A ${name} = const A()`, `final int ${name}`, `late String other, ${name}`]
  for (const field of fields)
    expect(outline(await read(`class A { const A(); ${field}; }`)), field).toContainEqual(expect.stringMatching(new RegExp(` ${name}$`)))
  expect(outline(await read(`class A { static const ${name} = A._(3); const A._(this.x); final int x; }`)).join('\n')).toContain(` ${name}`)
  expect(outline(await read(`const ${name} = 1;`)).join('\n')).toContain(name)
})
