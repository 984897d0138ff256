import { Migration } from '@mikro-orm/migrations'

// The dependencies of all versions of a package, once each with the number of versions that declare them, so that what depends on a package is found
// without reading every version. Triggers keep them up to date, also for servers of the previous release. They are filled here, and compared with the
// versions when the server starts (server/registry/packages/dependents/service.ts). A source is the URL of a registry, empty if the dependency names
// none. There is no foreign key: PostgreSQL would check it again when the second version of a deleted package changes the same row, and fail. The
// triggers come first: they lock the tables against changes until the end, in the order in which publishing changes them.
export class Migration20261127000811_package_requirements extends Migration {
  override up() {
    this.addSql('create table "package_requirements" ("name" varchar(64) collate "C" not null, "package_name" varchar(64) collate "C" not null, "kind" text not null, "source" text not null, "constraint" text not null, "package_id" uuid not null, "is_public" boolean not null, "versions" integer not null);')
    this.addSql(`create function package_versions_requirements() returns trigger language plpgsql as $$ begin
      update package_requirements r set versions = r.versions - 1 from package_dependencies d
        where r.package_id = old.package_id and d.version_id = old.id and d.sdk is null and r.name = d.name and r.kind = d.kind
          and r.source = coalesce(d.hosted_url, '') and r."constraint" = d."constraint";
      delete from package_requirements where package_id = old.package_id and versions = 0;
      return old;
    end $$;`)
    this.addSql(`create function packages_requirements() returns trigger language plpgsql as $$ begin
      update package_requirements set is_public = (new.visibility = 'public') where package_id = new.id;
      return null;
    end $$;`)
    this.addSql(`create function package_dependencies_requirements() returns trigger language plpgsql as $$ begin
      insert into package_requirements (${columns}) ${select('added')}
        on conflict (package_id, name, kind, md5(source || ' ' || "constraint"))
        do update set versions = package_requirements.versions + excluded.versions;
      return null;
    end $$;`)
    // Without a fixed search path, a temporary table of the same name would take precedence.
    for (const name of ['package_versions_requirements', 'packages_requirements', 'package_dependencies_requirements'])
      this.addSql(`do $$ begin execute format('alter function ${name}() set search_path = %I, pg_temp', current_schema()); end $$;`)
    this.addSql(`create trigger packages_requirements after update of visibility on packages
      for each row when (old.visibility <> new.visibility) execute function packages_requirements();`)
    this.addSql(`create trigger package_versions_requirements before delete on package_versions
      for each row execute function package_versions_requirements();`)
    this.addSql(`create trigger package_dependencies_requirements after insert on package_dependencies referencing new table as added
      for each statement execute function package_dependencies_requirements();`)
    this.addSql(`insert into package_requirements (${columns}) ${select('package_dependencies')};`)
    this.addSql('create unique index "package_requirements_package_id_index" on "package_requirements" ("package_id", "name", "kind", md5("source" || \' \' || "constraint"));')
    this.addSql('create index "package_requirements_name_index" on "package_requirements" ("name", "package_name");')
    this.addSql('create index "package_requirements_public_index" on "package_requirements" ("name", "is_public", "kind", "package_name");')
  }
}

const columns = 'name, package_name, package_id, kind, source, "constraint", is_public, versions'

const select = (from: string) => `select d.name, p.name, p.id, d.kind, coalesce(d.hosted_url, ''), d."constraint", p.visibility = 'public', count(*)
  from ${from} d join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
  where d.sdk is null group by p.id, d.name, d.kind, coalesce(d.hosted_url, ''), d."constraint" order by p.id, d.name, d.kind`
