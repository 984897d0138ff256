/** A request of the explorer as code. */
interface CodeRequest {
  url: string
  query: string
  variables: Record<string, unknown>
  operationName?: string | undefined
}

/** Languages that a request can be copied as. The code reads the token from the variable SNUG_TOKEN and never contains a credential. */
export const languages = { curl: curlCode, fetch: fetchCode, Dart: dartCode }

const hasVariables = ({ variables }: CodeRequest) => Object.keys(variables).length > 0

function curlCode(request: CodeRequest): string {
  const { url, query, variables, operationName } = request
  const body = JSON.stringify({ query, ...(hasVariables(request) && { variables }), ...(operationName && { operationName }) })
  return [
    `curl -sS '${url}'`,
    '-H "Authorization: Bearer $SNUG_TOKEN"',
    "-H 'Content-Type: application/json'",
    `-d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ].join(' \\\n  ')
}

function fetchCode(request: CodeRequest): string {
  const { url, query, variables, operationName } = request
  const properties = [
    `query: \`${query.trimEnd().replaceAll(/[\\`]|\$\{/g, String.raw`\$&`)}\`,`,
    ...(hasVariables(request) ? [`variables: ${JSON.stringify(variables)},`] : []),
    ...(operationName ? [`operationName: '${operationName}',`] : []),
  ]
  return `const response = await fetch('${url}', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Authorization: \`Bearer \${process.env.SNUG_TOKEN}\` },
  body: JSON.stringify({
    ${properties.join('\n    ')}
  }),
})
console.log(await response.json())
`
}

function dartCode(request: CodeRequest): string {
  const { url, query, variables, operationName } = request
  const entries = [
    `'query': ${dartString(query.trimEnd())},`,
    ...(hasVariables(request) ? [`'variables': jsonDecode(${dartString(JSON.stringify(variables))}),`] : []),
    ...(operationName ? [`'operationName': '${operationName}',`] : []),
  ]
  return `import 'dart:convert';
import 'dart:io';

import 'package:http/http.dart' as http;

Future<void> main() async {
  final response = await http.post(
    Uri.parse('${url}'),
    headers: {
      'Content-Type': 'application/json',
      'Authorization': 'Bearer \${Platform.environment['SNUG_TOKEN']}',
    },
    body: jsonEncode({
      ${entries.join('\n      ')}
    }),
  );
  print(response.body);
}
`
}

/** Returns a Dart string literal: a raw one, in which `$` needs no escape, unless the text contains its quotes. */
const dartString = (text: string) =>
  text.includes("'''") || text.endsWith("'") ? JSON.stringify(text).replaceAll('$', String.raw`\$`) : `r'''${text}'''`
