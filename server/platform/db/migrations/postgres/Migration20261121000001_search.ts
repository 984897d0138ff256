import { Migration } from '@mikro-orm/migrations'

// The server stores prepared search terms in these tables (server/search/terms.ts), so no text search configuration is needed.
// `fastupdate = off` updates the index when a version is published, rather than during a later search.
export class Migration20261121000001_search extends Migration {
  override up() {
    this.addSql(`do $$ begin
      create extension if not exists pg_trgm;
    exception when others then
      raise exception 'The search needs the extension pg_trgm, which could not be added (%). As a superuser, run in this database: CREATE EXTENSION pg_trgm;', sqlerrm;
    end $$;`)
    this.addSql('create table "package_search_documents" ("id" bigint generated always as identity primary key, "package_id" uuid not null unique references "packages" ("id") on delete cascade, "name" varchar(64) collate "C" not null unique, "created_at" bigint not null, "updated_at" bigint not null);')
    this.addSql('create index "package_search_documents_updated" on "package_search_documents" ("updated_at", "id");')
    this.addSql('create index "package_search_documents_created" on "package_search_documents" ("created_at", "id");')
    this.addSql('create index "package_search_documents_trigrams" on "package_search_documents" using gin ("name" gin_trgm_ops);')
    this.addSql('create table "package_search_brief" ("id" bigint primary key references "package_search_documents" ("id") on delete cascade, "terms" tsvector not null);')
    this.addSql('create index "package_search_brief_terms" on "package_search_brief" using gin ("terms") with (fastupdate = off);')
    this.addSql('create table "package_search_full" ("id" bigint primary key references "package_search_documents" ("id") on delete cascade, "terms" tsvector not null) with (toast_tuple_target = 128);')
    this.addSql('create index "package_search_full_terms" on "package_search_full" using gin ("terms") with (fastupdate = off);')
  }
}
