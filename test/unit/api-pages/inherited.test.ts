import { expect, it } from 'vitest'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { about, pagesOf } from '../../support/api.ts'

/** Returns the text of the main part of a page, without tags. */
async function textOf(page: string, files: Record<string, string>): Promise<string> {
  const api = await readApi(new Map(Object.entries(files)), about.name)
  return ((await pagesOf(api, about)).get(page) ?? '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/\s+/g, ' ')
}

const notifier = {
  'lib/shapes.dart': "export 'src/notifier.dart' show Notifier, Ref;",
  'lib/src/notifier.dart': `
    class Ref {}
    abstract class Notifier<T> extends Base<T> {
      /** Builds. */
      T build();
      void reset();
      void hide();
    }
    class Base<V> extends _Root with Mixin<List<V>> implements Ref {
      Base();
      static void helper() {}
      /// The current value, a {@macro value}
      V get state => x;
      set state(V value) {}
      /// Replaced below.
      V build();
      /// Starts again.
      void reset();
      /// @nodoc
      void hide();
    }
    class _Root {
      /// To others. {@template value}of its kind{@endtemplate}
      Ref get ref => x;
      int _hidden = 0;
    }
    mixin Mixin<W> { W all(W other) => x; Ref get ref => x; }`,
}

it('shows members inherited from unexported superclasses and mixins, with type arguments', async () => {
  const page = await textOf('shapes/Notifier', notifier)
  for (const shown of ['T get state', 'set state( T value)', 'List< T> all( List< T> other)', 'Ref get ref']) {
    expect(page.replaceAll(' ', '')).toContain(shown.replaceAll(' ', ''))
  }
  expect(page).toContain('The current value, a of its kind')
  expect(page).toMatch(/void reset\(\) .*Starts again\./)
  expect(page).toContain('void hide()')
  expect(page).not.toMatch(/Replaced below|helper|_hidden|To others/)
})

it('shows the comment of the nearest overridden member next to a member without one', async () => {
  const page = await textOf('shapes/Circle', {
    'lib/shapes.dart': `
      abstract class Shape { /** Covers the plane. */ double get area; /** Grows. */ void grow(); static void make() {} Shape(); }
      abstract class Round extends Shape { /** Grows evenly. */ void grow(); /** Makes one. */ static void make() {} /** Rolls. */ void roll(); }
      class Circle implements Round { double get area => 1; void grow() {} static void make() {} /** Rolls far. */ void roll() {} }`,
  })
  expect(page).toMatch(/double get area .*Covers the plane\..*void grow\(\) .*Grows evenly\..*void roll\(\) .*Rolls far\./)
  expect(page).not.toMatch(/Grows\.|Makes one|Rolls\./)
})

it('lists members inherited from an exported type through an unexported one', async () => {
  const page = await textOf('shapes/Shape', {
    'lib/shapes.dart': 'class Shape extends _Base {} class _Base extends Area {} class Area { int get size => 1; }',
  })
  expect(page).toContain('From Area size')
})

it('does not inherit members from an unrelated type with the same name', async () => {
  const page = await textOf('shapes/Shape', {
    'lib/shapes.dart': "export 'src/shape.dart'; export 'src/base.dart';",
    'lib/src/shape.dart': 'class Shape extends Base {}',
    'lib/src/base.dart': 'class Base { int get right => 1; }',
    'lib/src/other.dart': 'class Base { int get wrong => 1; }',
  })
  expect(page).toContain('From Base right')
  expect(page).not.toContain('wrong')
})

it('terminates for types that inherit from each other', async () => {
  const page = await textOf('shapes/Shape', {
    'lib/shapes.dart': 'class Shape extends _A {} class _A extends _B { int a() => 1; } class _B extends _A { int b() => 1; }',
  })
  expect(page).toMatch(/int a\( ?\)[\s\S]*int b\( ?\)/)
})
