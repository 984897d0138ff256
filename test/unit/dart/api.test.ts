import { describe, expect, it } from 'vitest'
import type { Api } from '../../../server/analysis/dart/api.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { docCoverageOf } from '../../../server/analysis/report/api-criteria.ts'

const read = (sources: Record<string, string>): Promise<Api> => readApi(new Map(Object.entries(sources)), 'own')

/** Returns the declarations of `lib/own.dart` as `kind: signature`, with members indented. */
async function lines(code: string): Promise<string[]> {
  const { libraries, unclear } = await read({ 'lib/own.dart': code })
  expect(unclear).toEqual([])
  const declarations = libraries[0]?.declarations ?? []
  return declarations.flatMap(({ kind, signature, members }) => [
    `${kind}: ${signature}`,
    ...members.map((member) => `  ${member.kind}: ${member.signature}`),
  ])
}

describe('declarations', () => {
  it('has signatures formatted on one line', async () => {
    const code = `
      abstract base class A<T extends Object?>  extends B<T> with C, D<int>
          implements E { }
      class M = A with B;
      base mixin Mx<T> on A, B implements C {}
      extension Ex<T> on List<T> {}
      typedef void Old( int a );
      typedef New<T> = T Function(T a)?;
      final int top = f({1, 2}), other = a < b ? 1 : 2;
      const one = '\${"}"}', two = <int, String>{};
      external int get gt;
      set st(int v) { if (v > 0) { print('}'); } }
      Future<void> fun<T>(T a, {required int b, @deprecated String? c = 'x;{',}) async { await x!<int>(); }
      (int, {String a}) record() => (1, a: '');
    `
    expect(await lines(code)).toEqual([
      'class: abstract base class A<T extends Object?> extends B<T> with C, D<int> implements E',
      'class: class M = A with B',
      'mixin: base mixin Mx<T> on A, B implements C',
      'extension: extension Ex<T> on List<T>',
      'typedef: typedef void Old(int a)',
      'typedef: typedef New<T> = T Function(T a)?',
      'variable: final int top',
      'variable: final int other',
      'constant: const String one',
      'constant: const Map<int, String> two',
      'getter: int get gt',
      'setter: set st(int v)',
      "function: Future<void> fun<T>(T a, {required int b, String? c = 'x;{'})",
      'function: (int, {String a}) record()',
    ])
  })

  it('has members: all kinds of constructors, operators, accessors, fields and statics', async () => {
    const code = `
      class A {
        const A(this.a, {super.key, required this.b, int this.c = 1});
        A.named(int x) : a = {1}.length, b = switch (x) { _ => 1 } { print('{'); }
        A._hidden();
        factory A.made() = B<int>.other;
        final int a; late final int? b;
        static const c = [1, 2];
        @override bool operator ==(Object other) => other is A && (a == other.a);
        void operator []=(int i, int v) {}
        A operator -() => this;
        int _private = 0;
        static void st<T>() {}
        get() { return {}; }
        external int size;
        int Function(int)? callback;
      }
      extension type const Id._(int id) implements int { Id.of(this.id); }
      enum E<T> implements I { a<int>(1), @Deprecated('b') b, c.named(2); const E([this.x]); final int? x; }
    `
    expect(await lines(code)).toEqual([
      'class: class A',
      '  constructor: const A(int a, {super.key, required int? b, int c = 1})',
      '  constructor: A.named(int x)',
      '  constructor: factory A.made()',
      '  field: final int a',
      '  field: final int? b',
      '  constant: static const c',
      '  operator: bool operator ==(Object other)',
      '  operator: void operator []=(int i, int v)',
      '  operator: A operator -()',
      '  method: static void st<T>()',
      '  method: get()',
      '  field: int size',
      '  field: int Function(int)? callback',
      'extension type: extension type const Id._(int id) implements int',
      '  field: final int id',
      '  constructor: Id.of(int id)',
      'enum: enum E<T> implements I',
      '  enum value: a',
      '  enum value: b',
      '  enum value: c',
      '  field: final int? x',
    ])
  })

  it('has documentation, deprecation, supertypes and a source position', async () => {
    const code = `/// About the library.
library;

// No documentation.
/// One
///   two.
@Deprecated('Use '
    'B.')
/* neither */
class A extends B<int> {
  /** Starred
   * comment. */
  @deprecated
  @override
  void f() {}
}
`
    const { libraries } = await read({ 'lib/own.dart': code })
    expect(libraries[0]?.doc).toBe('About the library.')
    expect(libraries[0]?.declarations).toEqual([
      {
        kind: 'class',
        name: 'A',
        signature: 'class A extends B<int>',
        doc: 'One\n  two.',
        deprecated: 'Use B.',
        source: { path: 'lib/own.dart', line: 10 },
        supertypes: [{ relation: 'extends', type: 'B<int>' }],
        hasDefaultConstructor: true,
        members: [
          {
            kind: 'method',
            name: 'f',
            signature: 'void f()',
            doc: 'Starred\ncomment.',
            deprecated: '',
            isStatic: false,
            isOverride: true,
            source: { path: 'lib/own.dart', line: 15 },
          },
        ],
      },
    ])
  })
})

describe('invalid code', () => {
  it('does not hide the declarations around it', async () => {
    const code =
      'class A { void a() {} what is ## this; void b() {} }\n?? odd;\nint c() => 1;\nclass D { void d() { (( } }\nclass E { void e() {} }\n'
    const { libraries, unclear } = await read({ 'lib/own.dart': code })
    expect(unclear).toEqual(['own.dart'])
    expect(libraries[0]?.declarations.map(({ name, members }) => [name, ...members.map((member) => member.name)])).toEqual([
      ['A', 'a', 'b'],
      ['c'],
      ['D', 'd'],
      ['E', 'e'],
    ])
  })

  it('is parsed in bounded time', async () => {
    const hostile = [
      '('.repeat(20_000),
      '{'.repeat(20_000),
      'class A {'.repeat(5_000),
      "'${".repeat(10_000),
      '/*'.repeat(20_000),
      'a<'.repeat(10_000),
      'f(a<b,c>(d'.repeat(20_000),
    ]
    const began = performance.now()
    const { unclear } = await read(Object.fromEntries(hostile.map((code, index) => [`lib/${index}.dart`, `int before;\n${code}`])))
    expect(unclear.length).toBeGreaterThan(0)
    expect(performance.now() - began).toBeLessThan(20_000)
  })
})

describe('documentation coverage', () => {
  it('counts libraries, declarations and members, and repeated exports once', async () => {
    const api = await read({
      'lib/own.dart': "/// Doc.\nlibrary;\nexport 'src/a.dart';",
      'lib/other.dart': "export 'src/a.dart';",
      'lib/src/a.dart':
        '/// A.\nclass A { A(); int get x => 1; /// Set.\n set x(int v) {} void m() {} @override String toString() => ""; @override void build() {} }',
    })
    expect(docCoverageOf(api)).toEqual({ documented: 4, total: 6, missing: ['other', 'other.A.m'] })
  })
})
