import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** Returns the paths of all pages in web/router.ts except the catch-all route. Parses the source, because the module only loads in a browser. */
export function consoleRoutes(): string[] {
  const text = readFileSync(new URL('../../web/router.ts', import.meta.url), 'utf8')
  const source = ts.createSourceFile('router.ts', text, ts.ScriptTarget.Latest, true)
  const lists = new Map<string, ts.ArrayLiteralExpression>()
  let routes: ts.Node | undefined
  const look = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && ts.isArrowFunction(node.initializer)) {
      if (ts.isArrayLiteralExpression(node.initializer.body)) lists.set(node.name.getText(), node.initializer.body)
    }
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'routes') routes = node.initializer
    else node.forEachChild(look)
  }
  look(source)
  if (!routes) throw new Error('web/router.ts has no routes.')
  return pathsIn(routes, '', lists).filter((path) => !path.includes('('))
}

function pathsIn(list: ts.Node, above: string, lists: Map<string, ts.ArrayLiteralExpression>): string[] {
  if (!ts.isArrayLiteralExpression(list)) {
    const named = ts.isCallExpression(list) && lists.get(list.expression.getText())
    if (!named) throw new Error(`Not a list of routes: ${list.getText()}`)
    return pathsIn(named, above, lists)
  }
  return list.elements.flatMap((element) => {
    if (ts.isSpreadElement(element)) return pathsIn(element.expression, above, lists)
    if (!ts.isObjectLiteralExpression(element)) throw new Error(`Not a route: ${element.getText()}`)
    const property = (name: string) =>
      element.properties.filter(ts.isPropertyAssignment).find((one) => one.name.getText() === name)?.initializer
    const own = property('path')
    const path = [above, own && ts.isStringLiteral(own) ? own.text : ''].filter(Boolean).join('/').replace('//', '/')
    const children = property('children')
    return [path, ...(children ? pathsIn(children, path, lists) : [])]
  })
}
