import { expect, it } from 'vitest'
import { readApi } from '../../../server/analysis/dart/read-api.ts'

/** Returns the signatures of the constructors of class `A` in this code. */
async function constructorsOf(code: string, more: Record<string, string> = {}): Promise<string[]> {
  const { libraries } = await readApi(new Map(Object.entries({ 'lib/own.dart': code, ...more })), 'own')
  const type = libraries.flatMap(({ declarations }) => declarations).find(({ name }) => name === 'A')
  return (type?.members ?? []).filter(({ kind }) => kind === 'constructor').map(({ signature }) => signature)
}

it.each([
  ['named parameters', 'class B { B({required int? x, int? z}); }', 'A({required super.x, super.z});', 'A({required int? x, int? z})'],
  ['initializing formal', 'class B { final String x; B({this.x = "a"}); }', 'A({super.x});', 'A({String x})'],
  ['positional parameters', 'class B { B(int x, [String? y]); }', 'A(super.a, int z, [super.b]);', 'A(int a, int z, [String? b])'],
  ['named constructor', 'class B { B(); B.of({int? x}); }', 'A({super.x}) : y = {1}, super.of();', 'A({int? x})'],
  [
    'constructor of an indirect superclass',
    'class B extends C { B(super.x); } class C { C(List<int> x); }',
    'A(super.x);',
    'A(List<int> x)',
  ],
  ['superclass with a mixin', 'class B = C with M; class C { C({int? x}); } mixin M {}', 'A({super.x});', 'A({int? x})'],
  ['private superclass', 'typedef B = _B; class _B { _B(int x); }', 'A(super.x);', 'A(super.x)'],
  ['function type', 'class B { B({int Function(int)? x}); }', 'A({super.x});', 'A({int Function(int)? x})'],
  ['explicit type', 'class B { B({Object? x}); }', 'A({int? super.x});', 'A({int? x})'],
  ['missing parameter in the superclass', 'class B { B(); }', 'A({super.x});', 'A({super.x})'],
])('resolves the type of a super parameter: %s', async (_, superclass, constructor, expected) => {
  expect(await constructorsOf(`${superclass} class A extends B { int? y; ${constructor} }`)).toEqual([expected])
})

it('substitutes type arguments', async () => {
  expect(await constructorsOf('class B<T, U> { B(Map<T, U> x); } class A<V> extends B<int, V?> { A(super.x); }')).toEqual([
    'A(Map<int, V?> x)',
  ])
})

it('resolves superclasses in unexported files', async () => {
  const more = { 'lib/src/b.dart': 'class B { B({int? x}); }' }
  expect(await constructorsOf("import 'src/b.dart'; class A extends B { A({super.x}); }", more)).toEqual(['A({int? x})'])
})

it('knows the key of widgets, but no types of unknown classes', async () => {
  expect(await constructorsOf('class A extends StatelessWidget { const A({super.key, super.other}); }')).toEqual([
    'const A({Key? key, super.other})',
  ])
  expect(await constructorsOf('class A extends Elsewhere { A({super.key}); }')).toEqual(['A({super.key})'])
})

it('terminates for classes that extend each other', async () => {
  expect(await constructorsOf('class A extends B { A(super.x); } class B extends A { B(super.x); }')).toEqual(['A(super.x)'])
})

it.each([
  ['Object?', 'Object?'],
  ['int', 'int?'],
  ['dynamic', 'dynamic'],
  ['void', 'void'],
  ['void Function()?', 'void Function()?'],
  ['int Function()', 'int Function()?'],
  ['Map<int, String?>', 'Map<int, String?>?'],
  ['(int, int?)?', '(int, int?)?'],
])('substitutes %s in a nullable type', async (argument, expected) => {
  const code = `class B<T> { B(T? x, {List<T?>? y}); } class A extends B<${argument}> { A(super.x, {super.y}); }`
  expect(await constructorsOf(code)).toEqual([`A(${expected} x, {List<${expected}>? y})`])
})
