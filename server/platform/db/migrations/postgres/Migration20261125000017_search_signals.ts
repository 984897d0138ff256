import { Migration } from '@mikro-orm/migrations'

// Ranking signals of search: the number of packages that depend on a package, counted among all packages and among those that are completely
// public (server/search/rebuild.ts), and the terms of its topics and description (server/search/relevance.ts).
export class Migration20261125000017_search_signals extends Migration {
  override up() {
    this.addSql('alter table "package_search_documents" add column "dependents" bigint not null default 0;')
    this.addSql('alter table "package_search_documents" add column "public_dependents" bigint not null default 0;')
    this.addSql('alter table "package_search_documents" add column "summary" text not null default \'\';')
    this.addSql('alter table "package_search_excerpts" add column "summary" text not null default \'\';')
  }
}
