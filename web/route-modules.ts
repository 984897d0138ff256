import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** A page of the console: its path and the modules of its components, relative to `web/`, from the outermost frame to the page itself. */
export interface PageModules {
  path: string
  modules: string[]
}

/** Lists the pages in router.ts except the catch-all route. Parses the source, because the module only loads in a browser. */
export function pageModules(): PageModules[] {
  const text = readFileSync(join(import.meta.dirname, 'router.ts'), 'utf8')
  const source = ts.createSourceFile('router.ts', text, ts.ScriptTarget.Latest, true)
  const names = new Map<string, ts.Node>()
  let routes: ts.Node | undefined
  const look = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && ts.isArrowFunction(node.initializer))
      names.set(node.name.getText(), node.initializer.body)
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'routes') routes = node.initializer
    else node.forEachChild(look)
  }
  look(source)
  if (!routes) throw new Error('web/router.ts has no routes.')
  // A parameter for any number of segments is written as `**`.
  const pages = pagesIn(routes, { path: '', modules: [] }, names).map((page) => ({
    ...page,
    path: page.path.replace('/:path(.*)*', '/**'),
  }))
  return pages.filter(({ path }) => path !== '/**')
}

type Names = ReadonlyMap<string, ts.Node>

function pagesIn(list: ts.Node, above: PageModules, names: Names): PageModules[] {
  if (!ts.isArrayLiteralExpression(list)) {
    const named = ts.isCallExpression(list) && names.get(list.expression.getText())
    if (!named) throw new Error(`Not a list of routes: ${list.getText()}`)
    return pagesIn(named, above, names)
  }
  return list.elements.flatMap((element) => {
    if (ts.isSpreadElement(element)) return pagesIn(element.expression, above, names)
    if (!ts.isObjectLiteralExpression(element)) throw new Error(`Not a route: ${element.getText()}`)
    const property = (name: string) =>
      element.properties.filter(ts.isPropertyAssignment).find((one) => one.name.getText() === name)?.initializer
    const own = property('path')
    const component = property('component')
    const path = [above.path, own && ts.isStringLiteral(own) ? own.text : ''].filter(Boolean).join('/').replace('//', '/')
    const page = { path, modules: [...above.modules, ...(component ? [moduleOf(component, names)] : [])] }
    const children = property('children')
    return [page, ...(children ? pagesIn(children, page, names) : [])]
  })
}

/** Returns the module that a lazily loaded component imports, relative to `web/`. */
function moduleOf(component: ts.Node, names: Names): string {
  const loader = ts.isIdentifier(component) ? names.get(component.text) : component
  const [, module] = /import\('\.\/([^']+)'\)/.exec(loader?.getText() ?? '') ?? []
  if (module === undefined) throw new Error(`Not a lazily loaded component: ${component.getText()}`)
  return module
}
